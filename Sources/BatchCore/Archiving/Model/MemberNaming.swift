import BatchEngine

/// Names of members: what an archive calls the files of a tree.
enum MemberNaming {
  /// The path as it was walked, without what would lead out of the folder that it is extracted to: slashes at
  /// the start, and everything up to the last `..`. A folder's has no slash at its end.
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
