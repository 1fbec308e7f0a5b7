import BatchCore
import BatchEngine

/// How many files a run read whose content could not be compared with a check.
struct CheckGapCounts: Sendable {
  private(set) var withoutChecksum = 0
  private(set) var unverified = 0

  mutating func add(_ gap: CheckGap?) {
    switch gap {
    case .noChecksum: withoutChecksum += 1
    case .xzCheck: unverified += 1
    case nil: break
    }
  }

  /// For the summary line.
  var words: [(count: Int, word: String)] {
    [(withoutChecksum, "without checksum"), (unverified, "with a check that cannot be verified")]
  }

  /// For the summary of `--json`.
  var tallies: [(count: Int, key: String)] {
    [(withoutChecksum, "no_checksum"), (unverified, "check_unverified")]
  }
}

extension JSONLine {
  /// Adds `check`, and `check_type` for the number of an xz check.
  mutating func add(_ gap: CheckGap) {
    switch gap {
    case .noChecksum: add("check", "no checksum")
    case .xzCheck(let type):
      add("check", "cannot be verified")
      add("check_type", UInt64(type))
    }
  }
}
