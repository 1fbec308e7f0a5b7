/// One of several shares of the data: each run reads one share, and all runs together read everything.
package struct ReadShare: Sendable, Hashable {
  /// From 0.
  package let number: Int
  package let count: Int
  private var start = 0

  /// - Parameter number: from 1.
  package init?(_ number: Int, of count: Int) {
    guard count > 0, (1...count).contains(number) else { return nil }
    self.number = number - 1
    self.count = count
  }

  /// The same share for the parts of a named object. The name determines at which part the share begins, so that small objects
  /// are not all in the first share.
  package func beginning(at name: some Sequence<UInt8>) -> ReadShare {
    var share = self
    // FNV-1a, the same in every run.
    let hash = name.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    share.start = Int(hash % UInt64(count))
    return share
  }

  /// Whether a part belongs to the share.
  ///
  /// - Parameter part: from 0.
  package func takes(_ part: Int) -> Bool { (part % count + start) % count == number }
}
