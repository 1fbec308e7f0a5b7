import BatchEngine

/// The names of members for the files of a tree.
enum MemberNaming {
  /// The path of the walk, without parts that would lead out of the target folder: leading slashes, and everything up to the
  /// last `..`. The name of a folder has no final slash.
  static func name(of path: PathBytes) -> PathBytes {
    let slash = UInt8(ascii: "/")
    let dot = UInt8(ascii: ".")
    var start = path.bytes.startIndex
    var position = start
    while position < path.bytes.endIndex {
      let end = path.bytes[position...].firstIndex(of: slash) ?? path.bytes.endIndex
      if path.bytes[position..<end].elementsEqual([dot, dot]) { start = end }
      position = end + 1
    }
    var rest = path.bytes[start...].drop { $0 == slash }
    while rest.count > 1, rest.last == slash { rest.removeLast() }
    return rest.isEmpty ? "." : PathBytes(rest)
  }
}
