import BatchCore
import BatchEngine

extension CheckGapCounts {
  /// For the summary line.
  var words: [(count: Int, word: String)] {
    [(withoutChecksum, "without checksum"), (unverified, "with a check that cannot be verified")]
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
