/// A sequential worker ahead of the lanes, for input that can only be read in order, such as an archive in one stream.
///
/// It replaces a source: it reads and decodes, and yields items that the lanes process meanwhile. It runs on its own thread, or
/// on the caller's if the run uses no other thread.
package protocol BatchReader<Item>: SendableMetatype {
  associatedtype Item: MeasuredItem

  /// Reads to the end and yields items. Called once.
  ///
  /// It must throw soon after a call of the context has thrown.
  func read(in context: ReaderContext<Item>) throws(BatchError)
}
