import BatchEngine

/// A file whose parts are available only after they were fetched. Used by several threads at once.
protocol PartialFile: Sendable {
  /// For messages.
  var path: PathBytes { get }
  /// The size of the whole file in bytes.
  var size: UInt64 { get }
  /// Its descriptor, valid as long as this value exists.
  var raw: Int32 { get }

  /// Returns when a part is available. Bytes beyond the end are ignored.
  ///
  /// - Throws: why it is unavailable.
  func fetch(at offset: UInt64, count: Int) throws(BatchError)
}
