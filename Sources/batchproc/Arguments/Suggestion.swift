/// The name that was probably meant.
enum Suggestion {
  /// The candidate that begins with `name`, otherwise the one with the fewest edits; nil when none is similar.
  static func nearest(to name: some Collection<UInt8>, among candidates: [String]) -> String? {
    // Longer words are not typing errors, and the cost of a comparison is the product of the lengths.
    guard name.count <= 64 else { return nil }
    let word = Array(name)
    if word.filter({ $0 != UInt8(ascii: "-") }).count >= 2,
      let longer = candidates.first(where: { $0.utf8.starts(with: word) })
    {
      return longer
    }
    let ranked = candidates.map { (text: $0, edits: edits(from: word, to: Array($0.utf8))) }
    guard let best = ranked.min(by: { $0.edits < $1.edits }) else { return nil }
    // A typing error in a short name changes few letters; `--keep` and `--help` share only two.
    let letters = word.drop { $0 == UInt8(ascii: "-") }.count
    return best.edits <= min(3, letters / 3) ? best.text : nil
  }

  /// Insertions, removals, replacements and swaps of neighbors (optimal string alignment).
  static func edits(from source: [UInt8], to target: [UInt8]) -> Int {
    var beforeLast = [Int](repeating: 0, count: target.count + 1)
    var last = Array(0...target.count)
    for (row, byte) in source.enumerated() {
      var current = [row + 1]
      current.reserveCapacity(target.count + 1)
      for (column, other) in target.enumerated() {
        var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (byte == other ? 0 : 1))
        if row > 0, column > 0, byte == target[column - 1], source[row - 1] == other {
          cost = min(cost, beforeLast[column - 1] + 1)
        }
        current.append(cost)
      }
      (beforeLast, last) = (last, current)
    }
    return last[target.count]
  }
}
