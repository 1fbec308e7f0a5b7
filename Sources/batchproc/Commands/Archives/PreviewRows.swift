import BatchCore
import BatchEngine

/// Prints what an extraction would create, replace and keep.
struct PreviewRows: Sendable {
  let directory: PathBytes
  let selection: MemberSelection
  let session: Session
  /// Whether the rows are only about what would change; not in JSON.
  var onlyChanges = false

  func write(_ report: ExtractionReport) throws(BatchError) {
    guard report.outcome != .superseded, let place = report.place ?? selection.place(of: report.path),
      !place.bytes.isEmpty
    else { return }
    let path = directory == "." ? PathBytes(place.bytes) : directory.appending(place.bytes)
    let outcome =
      switch report.outcome {
      case .extracted where report.existed: report.kind == .directory ? "kept" : "replaced"
      case .extracted: "made"
      case .upToDate: report.outcome.rawValue
      default: "kept"
      }
    session.advanced(1)
    let isSame = report.outcome == .upToDate || report.existed && report.kind == .directory
    if onlyChanges, isSame, !session.common.json { return }
    try session.write([path], as: "member") { line, path in
      line.add(path: path)
      line.add("outcome", outcome)
    } text: { path, bytes in
      TerminalText.append(path.bytes, to: &bytes)
      bytes += (outcome == "made" ? "\n" : ": \(outcome)\n").utf8
    }
  }
}
