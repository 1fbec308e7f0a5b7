import BatchCore
import BatchEngine

/// The verdict of a check: the exit status, and the sentences after the rows.
struct CheckVerdict {
  let status: ExitStatus
  let warnings: [String]

  /// - Parameter manifestCount: how many manifests were named; nil if the tally is that of a part of their lines.
  init(_ tally: CheckTally, manifestCount: Int?, options: CheckOptions) {
    var warnings = [String]()
    func warn(_ count: Int, _ one: String, _ many: String) {
      if count > 0 { warnings.append("\(ByteCount.grouped(count)) \(count == 1 ? one : many)") }
    }
    warn(tally.malformed + tally.text, "line is improperly formatted", "lines are improperly formatted")
    warn(tally.missing, "listed file is missing", "listed files are missing")
    warn(tally.unreadable, "listed file could not be read", "listed files could not be read")
    warn(tally.differs, "computed checksum did NOT match", "computed checksums did NOT match")
    let isWithoutProof =
      manifestCount != nil && tally.entries == tally.ignored
      && tally.malformed + tally.malformedManifests == 0
      && (tally.entries > 0 || tally.unreadableManifests == 0)
    if isWithoutProof { warnings.append("no file was verified") }
    self.warnings = warnings

    let isBad =
      tally.differs > 0 || tally.missing > 0 || tally.malformed + tally.malformedManifests > 0
      || (options.failsOnBadLines && tally.text > 0)
    if tally.unreadableManifests > 0, tally.unreadableManifests == manifestCount {
      status = .fatal
    } else if isBad || isWithoutProof {
      status = .differences
    } else if tally.unreadable > 0 || tally.unreadableManifests > 0 {
      status = .someFailed
    } else {
      status = .success
    }
  }
}
