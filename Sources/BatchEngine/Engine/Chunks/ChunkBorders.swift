/// Computes where the chunks of a run would end, for a plan that is divided among several runs.
package struct ChunkBorders {
  private var planner: ChunkPlanner<Void, Never>

  package init(_ stride: ChunkStride) {
    planner = ChunkPlanner(stride: stride)
  }

  /// Adds the next item.
  ///
  /// - Returns: whether a chunk now ends before it, and whether one ends with it.
  package mutating func add(_ measure: ItemMeasure) -> (before: Bool, after: Bool) {
    guard planner.add(.item(()), measure) != nil else { return (false, false) }
    return (planner.takeLarge() != nil, true)
  }
}
