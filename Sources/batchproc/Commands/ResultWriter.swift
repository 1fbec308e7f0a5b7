import BatchCore
import BatchEngine

/// Where the rows of a chunk go: to a stream as they are, or as events of `--json`.
struct ResultWriter: Sendable {
  let session: Session
  let stream: any ResultStream
  private let events: JSONReporter?

  /// - Parameter isEvents: whether rows become events where `--json` is given; not so when they go to a file.
  init(session: Session, stream: any ResultStream, isEvents: Bool) {
    self.session = session
    self.stream = stream
    events = isEvents ? session.reporter as? JSONReporter : nil
  }

  /// Whether rows are to be JSON objects, one a line.
  var writesEvents: Bool { events != nil }

  /// Writes rows; as events they have to be JSON objects.
  ///
  /// - Parameter type: of the events.
  func write(_ rows: ResultRows, as type: String = "file") throws(BatchError) {
    if let events {
      // The members that every event has take the place of the object's own brace.
      try events.write(
        type, members: rows.slices.lazy.filter { !$0.isEmpty }.map { [UInt8(ascii: ",")] + $0.dropFirst() })
    } else if !rows.bytes.isEmpty {
      try stream.write(rows.bytes)
    }
    session.advanced(rows.count)
  }
}
