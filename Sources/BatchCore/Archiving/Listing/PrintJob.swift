import BatchEngine

/// Writes the contents of members to a stream, one after the other.
package struct PrintJob: BatchJob {
  package typealias Item = PrintReader.Item

  private let stream: any ResultStream

  package init(to stream: any ResultStream) {
    self.stream = stream
  }

  package func makeWorker(in context: WorkerContext) -> Worker { Worker() }

  package func makeCollector(in context: CollectorContext) -> sending Collector { Collector(stream) }

  /// Passes contents on, and counts.
  package final class Worker: BatchWorker {
    package func process(_ item: Item, in context: WorkerContext, into pieces: inout [[UInt8]]) {
      switch item {
      case .content(let bytes): pieces.append(bytes)
      case .end: context.finish()
      case .problem(let error): context.fail(Problem(.unreadable, error))
      }
    }
  }

  /// Writes pieces in their order.
  package final class Collector: BatchCollector {
    private let stream: any ResultStream

    init(_ stream: any ResultStream) {
      self.stream = stream
    }

    package func collect(_ pieces: [[UInt8]]) throws(BatchError) {
      for piece in pieces { try stream.write(piece) }
    }
  }
}
