@testable import BatchCore
@testable import BatchEngine

/// Values of options and the control file of a run: dates, snapshots, rules for names, owners, modes,
/// recipients.
func fuzzArgumentTexts(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  let text = PathBytes(bytes)
  switch start[0] % 7 {
  case 0:
    if let time = WrittenTime(bytes) {
      for now: Int64 in [0, 1_800_000_000, 4_000_000_000] { _ = time.moments(now: now) }
    }
    _ = WrittenTime.beginning(of: text)
  case 1: _ = try? SnapshotPlace(text)
  case 2:
    let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard let transform = try? NameTransform(PathBytes(parts[0])),
      let names = try? NameTransformer([transform])
    else { return }
    for use in [NameTransform.Use.member, .symbolicLink, .hardLink] {
      _ = try? names.name(parts.count > 1 ? PathBytes(parts[1]) : "a/b", as: use)
    }
  case 3: for isGroup in [true, false] { _ = try? OwnerChange(text, isGroup: isGroup) }
  case 4:
    guard let mode = try? ModeChange(text, umask: 0o22) else { return }
    for old: UInt32 in [0, 0o644, 0o7777] {
      precondition(mode.applied(to: old, isFolder: old == 0) <= 0o7777, "a mode with other bits")
    }
  case 5:
    let wishes = RunControl.Wishes(bytes)
    if case .fixed(let number) = wishes.number { precondition(number > 0, "a concurrency of none") }
  default: _ = try? AgeRecipient.list(bytes, "recipients")
  }
}
