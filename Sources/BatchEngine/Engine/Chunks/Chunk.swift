/// A stride of items that one operation processes.
public struct Chunk<Item: Sendable>: Sendable {
  /// Position in the run, from 0; results are collected in this order.
  public let index: Int
  public let items: [Item]
  /// What the items weigh together, in bytes, as far as that is known before they are read.
  public let byteCount: Int64
  /// One item above the large threshold, alone in its chunk and started first.
  public let isLarge: Bool
}
