/// A sequential worker ahead of the lanes, for input that can only be read in order, such as an archive in one stream.
///
/// It replaces a source: it reads and decodes, and yields items that the lanes process meanwhile. It runs on its own thread, or
/// on the caller's if the run uses no other thread.
package protocol BatchReader<Item>: SendableMetatype {
  associatedtype Item: MeasuredItem
  /// A result that needs no worker: the ``BatchJob/SourceRow`` of the job. `Never` if the reader yields none.
  associatedtype Row: MeasuredItem = Never

  typealias Context = ReaderContext<Item, Row>

  /// Reads to the end, and yields items, rows and problems. Called once.
  ///
  /// It must throw soon after a call of the context has thrown.
  func read(in context: Context) throws(BatchError)
}
