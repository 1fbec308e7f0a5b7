import BatchEngine

/// Writes the contents of members to a stream, one after the other.
package struct PrintJob: BatchJob {
  package typealias Item = PrintReader.Item

  private let stream: any ResultStream

  package init(to stream: any ResultStream) {
    self.stream = stream
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<Item, [[UInt8]]> {
    FunctionWorker { (_, _, _) in }
  }

  package func add(_ row: PrintReader.Row, in context: WorkerContext, to pieces: inout [[UInt8]]) {
    switch row {
    case .content(let bytes): pieces.append(bytes)
    case .end: context.finish()
    case .failed(let error): context.fail(Problem(.unreadable, error))
    }
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending RowCollector<[[UInt8]]> {
    RowCollector { [stream] (pieces) throws(BatchError) in
      for piece in pieces { try stream.write(piece) }
    }
  }
}
