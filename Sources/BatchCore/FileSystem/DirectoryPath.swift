import Glibc

/// A folder that a walk went through, shared by the records of the files in it.
public final class DirectoryPath: Sendable {
  /// What stands before a file's name when its path is shown: empty, or ending in `/`.
  public let prefix: PathBytes
  /// How much of the prefix is the operand that led here; the rest is relative to it.
  let operandLength: Int
  /// The inode that the walk listed; nil for the folder of an operand that is a file.
  let identity: FileIdentity?
  /// How many folders lie between the operand and this one, 0 for the operand itself.
  let depth: Int

  init(prefix: PathBytes, operandLength: Int, identity: FileIdentity?, depth: Int) {
    self.prefix = prefix
    self.operandLength = operandLength
    self.identity = identity
    self.depth = depth
  }

  /// The folder for a name that was given as an operand: what stands before its last component.
  convenience init(ofOperand operand: PathBytes) {
    let start = operand.lastComponent.startIndex
    self.init(
      prefix: PathBytes(operand.bytes[..<start]), operandLength: start, identity: nil, depth: 0)
  }

  /// The prefix without the slash that would make the kernel follow a link; `.` for the empty one.
  var openPath: PathBytes {
    var end = prefix.bytes.count
    while end > 1, prefix.bytes[end - 1] == UInt8(ascii: "/") { end -= 1 }
    return end == 0 ? PathBytes(".") : PathBytes(prefix.bytes[..<end])
  }

  /// The prefix below the operand: empty, or names that each end in `/`.
  var relativePrefix: ArraySlice<UInt8> { prefix.bytes[operandLength...] }
}
