/// A folder that a walk goes through, shared by the records of the files in it.
public final class DirectoryPath: Sendable {
  /// What stands before a file's name when its path is shown: empty, or ending in `/`.
  public let prefix: PathBytes
  /// How much of the prefix is the operand that led here; the rest is relative to it.
  let operandLength: Int
  /// The inode that the folder above lists; nil for an operand, whatever it is.
  let identity: FileIdentity?
  /// How many folders lie between the operand and this one, 0 for the operand itself.
  let depth: Int
  /// The ignore files that hold for what is in it, where such files are read.
  let scope: IgnoreScope?

  init(
    prefix: PathBytes, operandLength: Int, identity: FileIdentity?, depth: Int, scope: IgnoreScope? = nil
  ) {
    self.prefix = prefix
    self.operandLength = operandLength
    self.identity = identity
    self.depth = depth
    self.scope = scope
  }

  /// A folder that was given as an operand.
  convenience init(operand: PathBytes) {
    let slash = UInt8(ascii: "/")
    let prefix = operand.bytes.last == slash ? operand : PathBytes(operand.bytes + [slash])
    self.init(prefix: prefix, operandLength: prefix.bytes.count, identity: nil, depth: 0)
  }

  /// The folder of a file that was given as an operand: what stands before its name.
  convenience init(ofFileOperand operand: PathBytes) {
    let start = operand.lastComponent.startIndex
    self.init(prefix: PathBytes(operand.bytes[..<start]), operandLength: start, identity: nil, depth: 0)
  }

  /// The prefix below the operand: empty, or names that each end in `/`.
  var relativePrefix: ArraySlice<UInt8> { prefix.bytes[operandLength...] }

  /// The prefix without the slash that would make the kernel follow a link; `.` for the empty one.
  var openPath: PathBytes {
    let shown = shownPath
    return shown.isEmpty ? PathBytes(".") : shown
  }

  /// The path of the folder as messages name it.
  var shownPath: PathBytes {
    var end = prefix.bytes.count
    while end > 1, prefix.bytes[end - 1] == UInt8(ascii: "/") { end -= 1 }
    return PathBytes(prefix.bytes[..<end])
  }

  func path(of entry: DirectoryEntry, names: NameArena) -> PathBytes {
    names.withName(at: entry.nameOffset) { PathBytes(prefix.bytes + $0) }
  }

  func subdirectory(of entry: DirectoryEntry, names: NameArena, device: UInt64) -> DirectoryPath {
    var bytes = prefix.bytes
    names.withName(at: entry.nameOffset) { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "/"))
    return DirectoryPath(
      prefix: PathBytes(bytes), operandLength: operandLength,
      identity: FileIdentity(device: device, inode: entry.inode), depth: depth + 1, scope: scope)
  }

  /// The same folder with the inode that was really opened.
  func identified(as identity: FileIdentity) -> DirectoryPath {
    if identity == self.identity { return self }
    return DirectoryPath(
      prefix: prefix, operandLength: operandLength, identity: identity, depth: depth, scope: scope)
  }

  /// The same folder with the ignore files that hold in it.
  func scoped(_ scope: IgnoreScope) -> DirectoryPath {
    DirectoryPath(
      prefix: prefix, operandLength: operandLength, identity: identity, depth: depth, scope: scope)
  }
}
