/// A folder of a walk, shared by the records of the files in it.
package final class DirectoryPath: Sendable {
  private static let slash = UInt8(ascii: "/")

  /// The nearest anchor above, or the folder itself if it is one; nil near the operand.
  let anchor: FolderAnchor?
  /// The path from the anchor, or including the operand if there is no anchor: empty, or ending in `/`.
  package let tail: [UInt8]
  /// How many bytes of the prefix are the operand; the rest is relative to it.
  package let operandLength: Int
  /// The inode that the parent folder lists; nil for any operand.
  package let identity: FileIdentity?
  /// How many folders lie between the operand and this one, 0 for the operand itself.
  package let depth: Int
  /// The ignore files that apply to its entries, if ignore files are read.
  let scope: IgnoreScope?

  init(
    anchor: FolderAnchor? = nil, tail: [UInt8], operandLength: Int, identity: FileIdentity?, depth: Int,
    scope: IgnoreScope? = nil
  ) {
    self.anchor = anchor
    self.tail = tail
    self.operandLength = operandLength
    self.identity = identity
    self.depth = depth
    self.scope = scope
  }

  /// A folder that was opened below an operand; `prefix` begins with the operand and is empty or ends in `/`.
  ///
  /// - Parameter identity: nil for the folder of a file that was named as an operand.
  package convenience init(prefix: [UInt8], operandLength: Int, identity: FileIdentity?, depth: Int) {
    self.init(tail: prefix, operandLength: operandLength, identity: identity, depth: depth)
  }

  /// A folder that was given as an operand.
  package convenience init(operand: PathBytes) {
    let prefix = operand.bytes.last == Self.slash ? operand.bytes : operand.bytes + [Self.slash]
    self.init(tail: prefix, operandLength: prefix.count, identity: nil, depth: 0)
  }

  /// The folder of a file that was given as an operand: the part before its name.
  package convenience init(ofFileOperand operand: PathBytes) {
    let start = operand.lastComponent.startIndex
    self.init(tail: Array(operand.bytes[..<start]), operandLength: start, identity: nil, depth: 0)
  }

  /// The part before a file's name when its path is shown: empty, or ending in `/`.
  ///
  /// It is built at each call, in time proportional to the depth.
  package var prefix: PathBytes {
    guard anchor != nil else { return PathBytes(tail) }
    var bytes = [UInt8]()
    appendPrefix(to: &bytes)
    return PathBytes(bytes)
  }

  /// The limit that the path exceeds; nil within the limits. Takes the same time at any depth.
  func excess(over limits: PathLimits) -> PathLimits.Excess? {
    // Without the slash at the end.
    let length = prefixLength - 1
    let levels = (anchor?.levels ?? 0) + PathLimits.names(in: tail[...])
    return limits.excess(levels: levels, length: length)
  }

  var prefixLength: Int { (anchor?.length ?? 0) + tail.count }

  func appendPrefix(to bytes: inout [UInt8]) {
    if let anchor {
      for anchor in anchor.chain { bytes += anchor.names }
    }
    bytes += tail
  }

  /// Whether this is the working folder, whose prefix is empty.
  var isWorkingFolder: Bool { anchor == nil && tail.isEmpty }

  /// The prefix below the operand: empty, or names that each end in `/`.
  package var relativePrefix: ArraySlice<UInt8> { prefix.bytes[operandLength...] }

  /// The own name of a folder below an operand. Takes the same time at any depth.
  package var name: ArraySlice<UInt8> {
    let names = tail.isEmpty ? anchor?.names ?? tail : tail
    let end = names.last == Self.slash ? names.endIndex - 1 : names.endIndex
    return names[(names[..<end].lastIndex(of: Self.slash).map { $0 + 1 } ?? names.startIndex)..<end]
  }

  /// The prefix without the final slash, which would make the kernel follow a link; `.` for an empty prefix.
  package var openPath: PathBytes {
    let shown = shownPath
    return shown.isEmpty ? PathBytes(".") : shown
  }

  /// The operand that led here, to be opened.
  var openOperand: PathBytes {
    operandLength == 0 ? PathBytes(".") : PathBytes(prefix.bytes[..<operandLength])
  }

  /// The path of the folder as messages name it.
  package var shownPath: PathBytes {
    let bytes = prefix.bytes
    var end = bytes.count
    while end > 1, bytes[end - 1] == Self.slash { end -= 1 }
    return PathBytes(bytes[..<end])
  }

  func path(of entry: DirectoryEntry, names: NameArena) -> PathBytes {
    names.withName(at: entry.nameOffset) { PathBytes(prefix.bytes + $0) }
  }

  func subdirectory(of entry: DirectoryEntry, names: NameArena, device: UInt64) -> DirectoryPath {
    var bytes = tail
    names.withName(at: entry.nameOffset) { bytes.append(contentsOf: $0) }
    bytes.append(Self.slash)
    return DirectoryPath(
      anchor: anchor, tail: bytes, operandLength: operandLength,
      identity: FileIdentity(device: device, inode: entry.inode), depth: depth + 1, scope: scope)
  }

  /// The same folder with the inode that was actually opened.
  func identified(as identity: FileIdentity) -> DirectoryPath {
    if identity == self.identity { return self }
    return DirectoryPath(
      anchor: anchor, tail: tail, operandLength: operandLength, identity: identity, depth: depth, scope: scope
    )
  }

  /// The same folder with the ignore files that apply in it.
  func scoped(_ scope: IgnoreScope) -> DirectoryPath {
    DirectoryPath(
      anchor: anchor, tail: tail, operandLength: operandLength, identity: identity, depth: depth, scope: scope
    )
  }

  /// The same folder, as an anchor if it is far enough below the last one.
  func anchored(in held: HeldFolders) -> DirectoryPath {
    let length = anchor == nil ? tail.count - operandLength : tail.count
    let isFar = depth - (anchor?.depth ?? 0) >= FolderAnchor.levels || length >= FolderAnchor.pathLength
    guard isFar, held.limit > 0, let identity else { return self }
    let own = FolderAnchor(outer: anchor, names: tail, identity: identity, depth: depth, held: held)
    return DirectoryPath(
      anchor: own, tail: [], operandLength: operandLength, identity: identity, depth: depth, scope: scope)
  }
}
