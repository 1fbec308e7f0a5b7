import BatchCore
import BatchEngine

/// How many files were read whose content could not be compared with a checksum.
struct CheckGapCounts: Sendable {
  private(set) var withoutChecksum = 0
  private(set) var unverified = 0

  init() {}

  /// - Parameter tallies: the counts from another value's ``tallies``.
  init(_ tallies: [String: Int]) {
    withoutChecksum = tallies["no_checksum"] ?? 0
    unverified = tallies["check_unverified"] ?? 0
  }

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
    add("check", gap.word)
    if case .xzCheck(let type) = gap { add("check_type", UInt64(type)) }
  }
}

extension CheckGap {
  /// Its name in JSON.
  var word: String {
    switch self {
    case .noChecksum: "no checksum"
    case .xzCheck: "cannot be verified"
    }
  }
}
