import BatchCore
import BatchEngine

/// Renders the findings of a verification about members.
struct VerifyRows: Sendable {
  let showsWhole: Bool

  func append(_ finding: VerifyJob.Finding, to bytes: inout [UInt8]) {
    if finding.damage != nil {
      append(finding.path, "DAMAGED", to: &bytes)
    } else if let text = finding.flags.text {
      append(finding.path, text.uppercased(), to: &bytes)
    }
    if let difference = finding.difference {
      append(finding.path, difference.kind.rawValue.uppercased(), difference.aspects, to: &bytes)
    } else if finding.damage == nil, finding.flags.text == nil, showsWhole {
      let mark =
        finding.mark == .superseded
        ? " (superseded)" : finding.mark == .supersedes ? " (supersedes an earlier member)" : ""
      append(finding.path, "OK\(mark)", to: &bytes)
    }
  }

  /// Adds the class, and the differing values of archive and folder.
  func add(_ difference: Difference, to line: inout JSONLine) {
    line.add("class", difference.kind.rawValue)
    for aspect in difference.aspects {
      for (side, value) in [("archived", aspect.recorded), ("live", aspect.live)] {
        switch value {
        case .text(let bytes) where aspect.name == .target:
          line.add(path: PathBytes(bytes), as: side == "live" ? "live_target" : "archived_target")
        case .number(let number): line.add("\(side)_\(aspect.name.rawValue)", number)
        case .digest(let digest): line.add("\(side)_\(digest.algorithm.rawValue)", digest.hex)
        case .text(let bytes):
          line.add("\(side)_\(aspect.name.rawValue)", String(decoding: bytes, as: UTF8.self))
        case .time(let time):
          line.add("\(side)_mtime", time: time)
        }
      }
    }
  }

  /// `name: METADATA (mode 0644 -> 0600)`
  func append(
    _ path: PathBytes, _ verdict: String, _ aspects: [Difference.Aspect] = [], to bytes: inout [UInt8]
  ) {
    TerminalText.append(path.bytes, to: &bytes)
    bytes += ": \(verdict)".utf8
    for (number, aspect) in aspects.enumerated() {
      bytes += (number == 0 ? " (" : ", ").utf8
      append(aspect, to: &bytes)
    }
    bytes += (aspects.isEmpty ? "\n" : ")\n").utf8
  }

  private func append(_ aspect: Difference.Aspect, to bytes: inout [UInt8]) {
    // Two digests only show that the contents differ.
    guard aspect.name != .content else {
      bytes += "content".utf8
      return
    }
    bytes += "\(aspect.name.rawValue) ".utf8
    switch (aspect.recorded, aspect.live) {
    case (.time(let recorded), .time(let live)):
      // In minutes; in seconds with their fraction if both times are in the same minute.
      let isClose = CalendarTime(recorded.seconds).text == CalendarTime(live.seconds).text
      bytes += text(recorded, isClose).utf8
      bytes += " -> ".utf8
      bytes += text(live, isClose).utf8
    case (let recorded, let live):
      append(recorded, to: &bytes)
      bytes += " -> ".utf8
      append(live, to: &bytes)
    }
  }

  private func append(_ value: Difference.Aspect.Value, to bytes: inout [UInt8]) {
    switch value {
    case .number(let number): bytes += "\(number)".utf8
    case .text(let text) where text.isEmpty: bytes += "nothing".utf8
    case .text(let text): TerminalText.append(text, to: &bytes)
    case .time, .digest: break
    }
  }

  private func text(_ time: FileStatus.Time, _ isExact: Bool) -> String {
    guard isExact else { return CalendarTime(time.seconds).text }
    let fraction = String(time.nanoseconds)
    return "@\(time.seconds)." + String(repeating: "0", count: max(0, 9 - fraction.utf8.count)) + fraction
  }
}
