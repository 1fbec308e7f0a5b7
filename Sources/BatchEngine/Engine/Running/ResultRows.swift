/// The rendered rows of the items of a chunk, in their order.
public struct ResultRows: ChunkOutput, Sendable {
  /// The rows, concatenated.
  public var bytes: [UInt8] { stored }
  @usableFromInline var stored: [UInt8] = []
  @usableFromInline var ends: [Int] = []

  public init() {}

  /// How many items have a row, which may be empty.
  public var count: Int { ends.count }

  /// The bytes of each item's row.
  public var slices: some Sequence<ArraySlice<UInt8>> {
    zip([0] + ends, ends).lazy.map { [bytes] in bytes[$0..<$1] }
  }

  public func part(_ range: Range<Int>) -> ResultRows {
    if range.count == count { return self }
    var part = ResultRows()
    let start = range.lowerBound > 0 ? ends[range.lowerBound - 1] : 0
    guard !range.isEmpty else { return part }
    part.stored = Array(bytes[start..<ends[range.upperBound - 1]])
    part.ends = ends[range].map { $0 - start }
    return part
  }

  /// Adds the row of one more item. If `render` throws, the bytes that it appended are removed.
  ///
  /// - Throws: the error of `render`.
  @inlinable
  public mutating func append<Failure: Error>(
    _ render: (inout [UInt8]) throws(Failure) -> Void
  ) throws(Failure) {
    let start = stored.count
    do throws(Failure) {
      try render(&stored)
    } catch {
      stored.removeSubrange(start...)
      throw error
    }
    ends.append(stored.count)
  }
}
