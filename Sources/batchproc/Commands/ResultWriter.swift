import BatchCore
import BatchEngine

/// Writes the rows of a chunk to a stream, unchanged or as events of `--json`.
struct ResultWriter: Sendable {
  let session: Session
  let stream: any ResultStream
  private let events: JSONReporter?

  /// - Parameter isEvents: whether rows become events if `--json` is given; false when they go to a file.
  init(session: Session, stream: any ResultStream, isEvents: Bool) {
    self.session = session
    self.stream = stream
    events = isEvents ? session.reporter as? JSONReporter : nil
  }

  /// Whether rows must be JSON objects, one on each line.
  var writesEvents: Bool { events != nil }

  /// Writes rows; for events they must be JSON objects.
  ///
  /// - Parameter type: of the events.
  func write(_ rows: ResultRows, as type: String = "file") throws(BatchError) {
    if let events {
      // The members of every event replace the opening brace of the object.
      try events.write(
        type, members: rows.slices.lazy.filter { !$0.isEmpty }.map { [UInt8(ascii: ",")] + $0.dropFirst() })
    } else if !rows.bytes.isEmpty {
      try stream.write(rows.bytes)
    }
    session.advanced(rows.count)
  }
}
