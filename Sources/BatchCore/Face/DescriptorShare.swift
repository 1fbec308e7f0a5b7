import BatchEngine
import Synchronization

/// The file descriptors of one call. No other call of the process can use them until they are given back.
final class DescriptorShare: Sendable {
  /// The largest share if the caller does not ask for a number.
  private static let usual: UInt64 = 512
  /// A call takes one n-th of the free descriptors, so that further calls get some too.
  private static let part: UInt64 = 4
  /// The descriptors of all calls in progress.
  private static let promised = Mutex<UInt64>(0)

  let count: Int
  /// The descriptors of the process without those of the other calls.
  let limit: DescriptorLimit

  /// - Parameter wanted: how many are requested; nil for the usual number.
  init(_ wanted: Int?) {
    // The limit is not raised: it belongs to the program.
    let free = DescriptorLimit.current().free
    (count, limit) = Self.promised.withLock { promised in
      let rest = free.soft - min(free.soft, promised)
      let asked = wanted.map { UInt64(clamping: $0) } ?? min(Self.usual, rest / Self.part)
      let most = rest - min(rest, DescriptorLimit.reserve)
      let count = min(max(asked, DescriptorLimit.minimum), most)
      promised += count
      return (Int(clamping: count), DescriptorLimit(soft: rest, hard: rest))
    }
  }

  /// To be called once, when the call has ended.
  func giveBack() {
    Self.promised.withLock { $0 -= min($0, UInt64(clamping: count)) }
  }
}
