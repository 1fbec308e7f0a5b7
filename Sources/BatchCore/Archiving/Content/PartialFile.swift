import BatchEngine

/// A file of which a part is there when it was asked for. Used by several threads at once.
protocol PartialFile: Sendable {
  /// For messages.
  var path: PathBytes { get }
  /// Of all of it, in bytes.
  var size: UInt64 { get }
  /// Open as long as this value lives.
  var raw: Int32 { get }

  /// Returns when a part is there. What is behind the end is left out.
  ///
  /// - Throws: why it is unavailable.
  func fetch(at offset: UInt64, count: Int) throws(BatchError)
}
