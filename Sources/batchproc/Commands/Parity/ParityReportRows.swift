import BatchCore
import BatchEngine

/// Prints what was found of files with recovery data, as `check` prints its rows.
struct ParityReportRows: Sendable {
  private let session: Session
  private let namesWhole: Bool

  /// - Parameter namesWhole: whether files that are whole are named too.
  init(_ session: Session, namesWhole: Bool = true) {
    (self.session, self.namesWhole) = (session, namesWhole)
  }

  func write(_ report: ParityVerifyCall.Report) throws(BatchError) {
    switch report {
    case .file(let file): try write(file)
    case .damagedVolume(let path):
      session.diagnostics.report(
        BatchError(.malformed, "is damaged; what is whole in it is used", path: path), as: .warning)
    case .refused(let error): session.fail(error)
    case .repaired(let file):
      if let events = session.events {
        try events.write("file") { line in
          line.add(path: file.path)
          line.add("outcome", "repaired")
        }
      } else {
        let kept = file.kept.map { ", the damaged file is \(TerminalText.string($0.bytes))" } ?? ""
        try print("\(TerminalText.string(file.path.bytes)): repaired\(kept)")
      }
    }
    session.advanced(1)
  }

  func write(remade path: PathBytes) throws(BatchError) {
    if let events = session.events {
      return try events.write("file") { line in
        line.add(path: path)
        line.add("outcome", "protected")
      }
    }
    try print("\(TerminalText.string(path.bytes)): its damaged recovery data were made again")
  }

  private func write(_ file: ParityInspection.File) throws(BatchError) {
    guard namesWhole || file.state != .whole else { return }
    if let events = session.events {
      return try events.write("file") { line in
        line.add(path: file.path)
        line.add("outcome", file.state.rawValue)
        line.add("blocks", file.blockCount)
        line.add("found", file.foundCount)
      }
    }
    let text =
      switch file.state {
      case .whole: "OK"
      case .damaged:
        "DAMAGED, \(file.foundCount) of \(ByteCount.counted(file.blockCount, "block")) found"
          + (file.isUnreadable ? ", some bytes could not be read" : "")
      case .missing:
        "MISSING" + (file.foundCount > 0 ? ", \(file.foundCount) of its blocks found elsewhere" : "")
      }
    if file.state == .whole, session.common.quiet { return }
    try print("\(TerminalText.string(file.path.bytes)): \(text)")
  }

  private func print(_ text: String) throws(BatchError) {
    try session.output.write(Array((text + "\n").utf8))
  }

  static func summary(of result: ParityVerifyCall.Result, isRepairing: Bool) -> SummaryText {
    let word =
      result.damaged == 0
      ? ""
      : isRepairing && result.repaired > 0
        ? "repaired" : result.isRepairable ? "repairable" : "not repairable"
    return SummaryText(
      verb: "compared", files: result.files, bytes: nil,
      others: [
        (result.damaged, "damaged"), (result.missingBlocks, "of \(result.blockCount) blocks missing"),
        (result.damaged == 0 && result.damagedVolumes == 0 ? 0 : result.recoveryBlocks, "recovery blocks"),
        (result.damaged - result.refused, word), (result.refused, "of another version"),
      ],
      tallies: [
        (result.damaged, "damaged"), (result.repaired, "repaired"), (result.refused, "refused"),
        (result.blockCount, "blocks"),
        (result.missingBlocks, "missing_blocks"), (result.recoveryBlocks, "recovery_blocks"),
        (result.damagedVolumes, "damaged_volumes"), (result.isRepairable ? 1 : 0, "repairable"),
      ])
  }
}
