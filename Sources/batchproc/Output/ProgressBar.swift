/// Renders the progress line of a terminal.
struct ProgressBar: Sendable {
  /// The largest part shown so far: totals may grow while they are counted, the bar never shrinks.
  private var shown: Double = 0

  init() {}

  /// One line of printable ASCII without an end, at most `width` columns wide.
  ///
  /// - Parameter width: one less than the terminal has, so that no cursor wraps.
  mutating func render(_ state: ProgressState, width: Int) -> [UInt8] {
    if let fraction = state.fraction { shown = max(shown, fraction) }
    let known = state.fraction.map { _ in shown }
    // What stands last is dropped first where the line is narrow.
    var parts: [String] = []
    if let known { parts.append(percent(known, isFinished: state.isFinished)) }
    parts += state.parts(at: known)
    var line = ""
    for part in parts {
      let longer = line.isEmpty ? part : line + "  " + part
      guard longer.utf8.count <= width else { break }
      line = longer
    }
    let free = width - line.utf8.count - 2
    if let known, free >= ProgressBar.narrowest {
      line = bar(known, columns: min(free, ProgressBar.widest)) + "  " + line
    }
    return Array(line.utf8)
  }

  private static let narrowest = 10
  private static let widest = 30

  /// Only a finished run is at 100 %.
  private func percent(_ fraction: Double, isFinished: Bool) -> String {
    let number = isFinished ? 100 : min(99, Int(fraction * 100))
    return String(repeating: " ", count: 3 - String(number).utf8.count) + "\(number)%"
  }

  private func bar(_ fraction: Double, columns: Int) -> String {
    let inner = columns - 2
    let filled = min(inner, Int(fraction * Double(inner)))
    return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: inner - filled) + "]"
  }
}
