import BatchCore
import BatchEngine

/// Prints what an extraction would create, replace and keep.
struct PreviewRows: Sendable {
  private let directory: PathBytes
  private let selection: MemberSelection
  private let results: ResultWriter

  init(_ directory: PathBytes, _ selection: MemberSelection, _ session: Session) {
    self.directory = directory
    self.selection = selection
    results = ResultWriter(session)
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
      default: "kept"
      }
    var rows = ResultRows()
    let isEvent = results.writesEvents
    rows.append { bytes in
      guard isEvent else {
        TerminalText.append(path.bytes, to: &bytes)
        bytes += (outcome == "made" ? "\n" : ": \(outcome)\n").utf8
        return
      }
      JSONLine.append(to: &bytes) { line in
        line.add(path: path)
        line.add("outcome", outcome)
      }
    }
    try results.write(rows, as: "member")
  }
}
