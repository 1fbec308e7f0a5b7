import BatchCore
import BatchEngine

/// The files that each measurement of `tune` processes.
struct TuneSample: Sendable {
  /// Large files are cut into blocks of this size or more, in bytes.
  private static let smallestBlock: Int64 = 1 << 20

  /// The files for the highest concurrency.
  let items: [WalkItem]
  /// How many of them the lowest concurrency processes.
  let fewest: Int
  /// Up to this concurrency the fewest files are enough; above it, the number of files grows in proportion. Nil if all runs
  /// process all files.
  let operations: Int?
  /// The number of files in the tree.
  let total: Int
  /// Whether the kernel drops the content from its cache before each run.
  let isCold: Bool

  /// The files for a concurrency: on a device that serves many requests at once, each operation should get several chunks.
  func part(for concurrency: Int) -> ArraySlice<WalkItem> {
    guard let operations else { return items[...] }
    let (count, isTooMany) = fewest.multipliedReportingOverflow(by: max(1, concurrency / max(1, operations)))
    return items.prefix(isTooMany ? items.count : count)
  }

  /// The number of the fewest files, to which all times are scaled.
  var count: Int { min(fewest, items.count) }
  var byteCount: Int64 { items.prefix(fewest).reduce(into: 0) { $0.addClamped($1.size) } }

  /// Parts that different operations can process: the files, and blocks of large ones.
  var parts: Int {
    items.reduce(into: 0) { $0.addClamped(1 + Int(clamping: $1.size / Self.smallestBlock)) }
  }

  /// The work of a run over files, in bytes, with a fixed cost for each file.
  static func work(_ items: some Sequence<WalkItem>) -> Double {
    items.reduce(0) { $0 + Double($1.size) + 16_384 }
  }

  /// The largest factor by which a sample grows at once.
  private static let largestStep = 8.0

  /// The share of the tree for which a run takes about the wanted time; nil if the sample is large enough.
  ///
  /// - Parameters:
  ///   - share: the share of the present sample.
  ///   - taken: how long a run over it took, in seconds.
  static func largerShare(than share: Double, taken: Double, wanted: Double) -> Double? {
    taken < wanted / 2 ? share * min(largestStep, wanted / max(taken, 1e-4)) : nil
  }

  /// Consecutive files that stay together in a sample, because a folder is opened once for several files.
  private static let groupSize = 64

  /// Groups of consecutive files, spread over the tree.
  static func part(of items: [WalkItem], _ share: Double) -> [WalkItem] {
    let groups = (items.count + groupSize - 1) / groupSize
    let wanted = min(groups, max(1, Int((Double(groups) * share).rounded(.up))))
    return (0..<wanted).flatMap { index in
      let start = index * groups / wanted * groupSize
      return items[start..<min(items.count, start + groupSize)]
    }
  }
}

extension WalkItem {
  var size: Int64 { if case .file(let record) = self { record.status.size } else { 0 } }

  /// Asks the kernel to drop a file from its cache; returns whether it did.
  @discardableResult
  func dropFromCache() -> Bool {
    guard case .file(let record) = self else { return true }
    return size == 0 || PageCache.drop(record.path) == true
  }
}
