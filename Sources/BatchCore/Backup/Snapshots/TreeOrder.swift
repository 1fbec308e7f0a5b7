import BatchEngine

/// The order in which a walk yields the entries below one operand: in a folder first everything except folders, then its
/// subfolders, each followed by its contents; sorted by the bytes of the names.
enum TreeOrder {
  private static let slash = UInt8(ascii: "/")
  private static let root = [UInt8(ascii: ".")]

  /// - Returns: below 0 when the first path comes first, 0 when they are the same path of the same kind.
  static func compare(
    _ first: [UInt8], isFolder firstIsFolder: Bool, _ second: [UInt8], isFolder secondIsFolder: Bool
  ) -> Int {
    // The root folder, which is the operand itself.
    let (firstIsRoot, secondIsRoot) = (first == root && firstIsFolder, second == root && secondIsFolder)
    if firstIsRoot != secondIsRoot { return firstIsRoot ? -1 : 1 }
    let shared = min(first.count, second.count)
    var position = 0
    while position < shared, first[position] == second[position] { position += 1 }
    if position == first.count, position == second.count {
      return (firstIsFolder ? 1 : 0) - (secondIsFolder ? 1 : 0)
    }
    // Both paths have the same folders before the first different name, or before the end of one of them.
    let firstGoesOn = goesOn(first, from: position, isFolder: firstIsFolder)
    let secondGoesOn = goesOn(second, from: position, isFolder: secondIsFolder)
    if firstGoesOn != secondGoesOn { return firstGoesOn ? 1 : -1 }
    let left = position < first.count && first[position] != slash ? Int(first[position]) : -1
    let right = position < second.count && second[position] != slash ? Int(second[position]) : -1
    if left != right { return left - right }
    return first.count - second.count
  }

  /// Whether the name at a position is that of a folder.
  private static func goesOn(_ path: [UInt8], from position: Int, isFolder: Bool) -> Bool {
    isFolder || path[min(position, path.count)...].contains(slash)
  }
}
