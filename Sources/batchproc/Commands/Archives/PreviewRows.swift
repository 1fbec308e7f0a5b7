import BatchCore
import BatchEngine
import Synchronization

/// Prints what an extraction would create, replace and keep.
final class PreviewRows: Sendable {
  /// Rows that are written together.
  private static let most = 256

  private struct Row {
    let path: PathBytes
    let outcome: String
  }

  private let directory: PathBytes
  private let selection: MemberSelection
  private let session: Session
  /// Whether the rows are only about what would change; not in JSON.
  private let onlyChanges: Bool
  private let rows = Mutex<[Row]>([])

  init(directory: PathBytes, selection: MemberSelection, session: Session, onlyChanges: Bool = false) {
    self.directory = directory
    self.selection = selection
    self.session = session
    self.onlyChanges = onlyChanges
  }

  func write(_ report: ExtractionReport) throws(BatchError) {
    guard report.outcome != .superseded, let place = report.place ?? selection.place(of: report.path),
      !place.bytes.isEmpty
    else { return }
    let path = directory == "." ? PathBytes(place.bytes) : directory.appending(place.bytes)
    let outcome =
      switch report.outcome {
      case .extracted where report.existed: report.kind == .directory ? "kept" : "replaced"
      case .extracted: "made"
      case .upToDate, .removed: report.outcome.rawValue
      default: "kept"
      }
    session.advanced(1)
    let isSame = report.outcome == .upToDate || report.existed && report.kind == .directory
    if onlyChanges, isSame, !session.common.json { return }
    let isFull = rows.withLock { rows in
      rows.append(Row(path: path, outcome: outcome))
      return rows.count >= Self.most
    }
    if isFull { try finish() }
  }

  /// Writes the rows that were not written yet.
  func finish() throws(BatchError) {
    let rows = rows.withLock { rows in
      defer { rows.removeAll(keepingCapacity: true) }
      return rows
    }
    try session.write(rows, as: "member") { line, row in
      line.add(path: row.path)
      line.add("outcome", row.outcome)
    } text: { row, bytes in
      TerminalText.append(row.path.bytes, to: &bytes)
      bytes += (row.outcome == "made" ? "\n" : ": \(row.outcome)\n").utf8
    }
  }
}
