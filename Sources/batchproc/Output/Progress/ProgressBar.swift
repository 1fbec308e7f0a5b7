/// Renders the progress line of a terminal.
struct ProgressBar: Sendable {
  /// The largest part shown so far: totals may grow while they are counted, but the bar never shrinks.
  private var shown: Double = 0

  /// One line of printable ASCII without an end, at most `width` columns wide.
  ///
  /// - Parameter width: one less than the terminal has, so that no cursor wraps.
  mutating func render(_ state: ProgressState, width: Int) -> [UInt8] {
    if let fraction = state.fraction { shown = max(shown, fraction) }
    let known = state.fraction.map { _ in shown }
    let parts = state.parts(at: known)
    let head =
      known.map { fraction in
        let number = percent(fraction, isFinished: state.isFinished)
        // The width of the bar only depends on that of the terminal.
        let columns = min(Self.widest, width / 3)
        return columns < Self.narrowest ? number : "\(bar(fraction, columns: columns))  \(number)"
      } ?? ""
    // On a narrow line the time is kept longest, because it is the most important part.
    var free = width - head.utf8.count
    var isFull = free < 0
    func fits(_ part: String?) -> Bool {
      guard let part, !isFull else { return false }
      let needed = part.utf8.count + (free == width ? 0 : 2)
      isFull = needed > free
      if !isFull { free -= needed }
      return !isFull
    }
    let (time, bytes) = (fits(parts.time), fits(parts.bytes))
    let (rate, files) = (fits(parts.rate), fits(parts.files))
    let texts = [
      head.utf8.count <= width ? head : "", bytes ? parts.bytes : "", files ? parts.files : "",
      rate ? parts.rate ?? "" : "", time ? parts.time : "",
    ]
    return Array(texts.filter { !$0.isEmpty }.joined(separator: "  ").utf8)
  }

  private static let narrowest = 10
  private static let widest = 20

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
