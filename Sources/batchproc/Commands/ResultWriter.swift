import BatchCore
import BatchEngine
import BatchOutputs

/// Writes the rows of a chunk to a stream, unchanged or as events of `--json`.
struct ResultWriter: Sendable {
  let session: Session
  let stream: any ResultStream
  private let events: JSONReporter?

  /// - Parameter file: gets the rows unchanged; nil for standard output, where they become events if `--json` is given.
  init(_ session: Session, to file: OutputFile? = nil) {
    self.session = session
    stream = file ?? session.output
    events = file == nil ? session.events : nil
  }

  /// Whether rows must be JSON objects, one on each line.
  var writesEvents: Bool { events != nil }

  /// Appends the row of a name that a dry run lists.
  func append(name: PathBytes, isNULEnded: Bool = false, to bytes: inout [UInt8]) {
    if writesEvents { return JSONLine.append(to: &bytes) { $0.add(path: name) } }
    bytes += name.bytes
    bytes.append(isNULEnded ? 0 : UInt8(ascii: "\n"))
  }

  /// Writes rows; for events they must be JSON objects.
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

extension Session {
  private static let bufferSize = 1 << 16

  /// Writes a row for each item: an event of this type if `--json` is given, otherwise text.
  func write<Item>(
    _ items: [Item], as type: String, event: (inout JSONLine, Item) -> Void,
    text: (Item, inout [UInt8]) -> Void
  ) throws(BatchError) {
    if let events { return try events.write(type, items, event) }
    var bytes = [UInt8]()
    for item in items {
      text(item, &bytes)
      guard bytes.count >= Self.bufferSize else { continue }
      try output.write(bytes)
      bytes.removeAll(keepingCapacity: true)
    }
    if !bytes.isEmpty { try output.write(bytes) }
  }
}
