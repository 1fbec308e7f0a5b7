/// Cuts a sequence of costs into contiguous ranges, so that the most expensive range costs as little as possible.
enum EvenCuts {
  /// - Parameters:
  ///   - ends: the cumulative cost at each place where a range may end; the last one is the total.
  ///   - count: the most ranges, 1 or more.
  /// - Returns: the places where ranges end, sorted and including the last one. An indivisible piece that costs more than the
  ///   other ranges is a separate range.
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

  /// Ranges that are as long as possible but cost at most a limit.
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
