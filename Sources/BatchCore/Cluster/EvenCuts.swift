/// Cuts a sequence of costs into contiguous ranges, so that the dearest of them costs as little as it can.
enum EvenCuts {
  /// - Parameters:
  ///   - ends: the cost up to each place where a range may end, never falling; the last one is that of all.
  ///   - count: the most ranges, 1 or more.
  /// - Returns: the places where ranges end, in their order and with the last one. A piece that cannot be cut and costs more than
  ///   the other ranges is a range of its own.
  static func places(_ ends: [Int64], count: Int) -> [Int] {
    guard let total = ends.last else { return [] }
    var low = total / Int64(max(1, count))
    var high = total
    while low < high {
      let middle = low + (high - low) / 2
      if cut(ends, at: middle).count <= count { high = middle } else { low = middle + 1 }
    }
    return cut(ends, at: high)
  }

  /// Ranges as long as they cost no more than a limit.
  private static func cut(_ ends: [Int64], at limit: Int64) -> [Int] {
    var places: [Int] = []
    var start: Int64 = 0
    var next = 0
    while next < ends.count {
      var place = next
      while place + 1 < ends.count, ends[place + 1] - start <= limit { place += 1 }
      places.append(place)
      start = ends[place]
      next = place + 1
    }
    return places
  }
}
