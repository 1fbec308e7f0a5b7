import BatchEngine
import BatchOutputs

/// A source whose output did not fit on its file system. When other sources are removed, the output is made again.
package final class UnwrittenSource: Sendable {
  let record: FileRecord
  let target: PathBytes
  /// Whether a copy of it would have the name of another source's output.
  let hasRival: Bool
  let error: BatchError

  /// The failure of an output, if it may succeed when other sources are removed; nil for any other failure.
  init?(
    failed error: BatchError, _ record: FileRecord, target: PathBytes, hasRival: Bool = false,
    _ options: OutputOptions
  ) {
    guard error.isOutOfSpace, options.removesSource else { return nil }
    self.record = record
    self.target = target
    self.hasRival = hasRival
    self.error = error
  }
}

/// The sources without outputs for lack of space, until they are tried again. Belongs to the collector.
struct UnwrittenSources {
  private struct Entry {
    let source: UnwrittenSource
    /// How many outputs were committed when it was tried last; nil before the first try.
    var tried: Int?
  }

  private var entries: [Entry] = []
  /// Whether one of them is tried now.
  private var isTrying = false

  mutating func add(_ source: UnwrittenSource) { entries.append(Entry(source: source)) }

  /// The source that is tried next: the smallest one for which more space may be free than at its last try.
  ///
  /// - Parameters:
  ///   - committed: how many outputs have been committed.
  ///   - isUrgent: whether one is tried even if nothing has changed since.
  mutating func next(after committed: Int, isUrgent: Bool) -> UnwrittenSource? {
    guard !isTrying else { return nil }
    let next = entries.indices.filter { index in
      isUrgent || entries[index].tried.map { $0 < committed } ?? true
    }.min { entries[$0].source.record.status.size < entries[$1].source.record.status.size }
    guard let next else { return nil }
    entries[next].tried = committed
    isTrying = true
    return entries[next].source
  }

  /// Ends the try of a source.
  ///
  /// - Parameter isLast: whether it is not tried again.
  mutating func end(of source: UnwrittenSource, isLast: Bool) {
    isTrying = false
    if isLast { entries.removeAll { $0.source === source } }
  }

  mutating func giveUp() -> [UnwrittenSource] {
    defer { entries = [] }
    return entries.map(\.source)
  }
}
