import BatchEngine

/// The sources of a mirror, and where each belongs below the target.
///
/// As for rsync, `srv` becomes the folder `srv` of the target, and `srv/` means the contents of the folder. `.`, `..` and `/` mean
/// contents too.
package struct MirrorOperands: Sendable {
  private static let slash = UInt8(ascii: "/")

  struct Operand: Sendable {
    /// As it is walked.
    let path: PathBytes
    /// The folder below the target; empty for contents.
    let base: [UInt8]
  }

  let all: [Operand]
  /// The bases, by the beginnings of the paths that a walk yields.
  private let bases: [[UInt8]: [UInt8]]

  package init(_ given: [PathBytes]) {
    var all: [Operand] = []
    var bases: [[UInt8]: [UInt8]] = [:]
    for path in given {
      let base = Self.base(of: path)
      var bytes = path.bytes
      var prefix = bytes.last == Self.slash ? bytes : bytes + [Self.slash]
      // The walk yields the same paths for `srv` and `srv/`; a second slash distinguishes them if both are given.
      while let known = bases[prefix], known != base {
        prefix.append(Self.slash)
        bytes = prefix
      }
      guard bases[prefix] == nil else { continue }
      bases[prefix] = base
      all.append(Operand(path: PathBytes(bytes), base: base))
    }
    (self.all, self.bases) = (all, bases)
  }

  /// The paths to walk; one that was given twice is there once.
  package var paths: [PathBytes] { all.map(\.path) }

  /// Whether two sources may have entries at the same place.
  var mayMeet: Bool {
    let folders = Set(all.map(\.base))
    return all.count > 1 && (folders.count < all.count || folders.contains([]))
  }

  private static func base(of path: PathBytes) -> [UInt8] {
    guard path.bytes.last != slash else { return [] }
    let name = path.lastComponent
    return name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) ? [] : Array(name)
  }

  /// The place of a folder of the walk; for the folder of a file that was given, the target.
  func place(of directory: DirectoryPath) -> [UInt8] {
    guard directory.identity != nil else { return [] }
    let prefix = directory.prefix.bytes
    return Self.join(
      bases[Array(prefix[..<directory.operandLength])] ?? [], prefix[directory.operandLength...])
  }

  func place(of record: FileRecord) -> RelativePath {
    var name: [UInt8] = []
    record.appendName(to: &name)
    return RelativePath(folder: place(of: record.directory), name: name)
  }

  /// The place of a path that a walk yielded.
  func place(of path: PathBytes) -> RelativePath {
    let found = bases.filter { path.bytes.starts(with: $0.key) }.max { $0.key.count < $1.key.count }
    guard let found else { return RelativePath(folder: [], name: Array(path.lastComponent)) }
    return RelativePath(folder: Self.join(found.value, path.bytes[found.key.count...]), name: [])
  }

  private static func join(_ base: [UInt8], _ rest: ArraySlice<UInt8>) -> [UInt8] {
    var rest = rest
    while rest.last == slash { rest.removeLast() }
    return base.isEmpty ? Array(rest) : rest.isEmpty ? base : base + [slash] + rest
  }

  /// The operands that have a folder at a place, and the path of that folder below each.
  func sources(of folder: [UInt8]) -> [(operand: Operand, rest: ArraySlice<UInt8>)] {
    all.compactMap { operand in
      if operand.base.isEmpty { return (operand, folder[...]) }
      guard FolderPath(operand.base[...]).holds(folder[...]) else { return nil }
      return (operand, folder[operand.base.count...].drop { $0 == Self.slash })
    }
  }
}
