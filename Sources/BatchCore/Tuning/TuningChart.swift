/// Draws a sweep as SVG: the rate over the operations at once, with the range of the runs.
package enum TuningChart {
  private static let (width, height, margin) = (640.0, 360.0, 56.0)

  /// - Parameters:
  ///   - work: how much each run processed, in the unit of the axis.
  ///   - unit: the unit of the axis: `MB/s`.
  ///   - title: must only contain XML characters.
  package static func svg(
    _ points: [ConcurrencySweep.Point], work: Double, unit: String, title: String, recommended: Int?
  ) -> String {
    let measured = points.filter { !$0.seconds.isEmpty }
    let rates = measured.map { point in
      let (least, most) = (point.seconds.min() ?? 1, point.seconds.max() ?? 1)
      return (
        number: point.setting.concurrency, low: work / max(most, 1e-9),
        middle: work / max(point.median, 1e-9),
        high: work / max(least, 1e-9)
      )
    }
    let top = niceTop(rates.map(\.high).max() ?? 1)
    func x(_ index: Int) -> Double {
      margin + (width - 2 * margin) * (rates.count < 2 ? 0.5 : Double(index) / Double(rates.count - 1))
    }
    func y(_ rate: Double) -> Double { height - margin - (height - 2 * margin) * rate / top }
    var lines = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(whole(width)) \(whole(height))" \
      font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>
      <text x="\(whole(width / 2))" y="24" text-anchor="middle" font-size="14">\(escaped(title))</text>
      """
    ]
    for step in 0...4 {
      let rate = top * Double(step) / 4
      lines.append(
        """
        <line x1="\(whole(margin))" x2="\(whole(width - margin))" y1="\(tenths(y(rate)))" y2="\(tenths(y(rate)))" stroke="#ddd"/>
        <text x="\(whole(margin - 6))" y="\(tenths(y(rate) + 4))" text-anchor="end">\(tenths(rate))</text>
        """)
    }
    for (index, rate) in rates.enumerated() {
      let isBest = rate.number == recommended
      lines.append(
        """
        <line x1="\(tenths(x(index)))" x2="\(tenths(x(index)))" y1="\(tenths(y(rate.low)))" y2="\(tenths(y(rate.high)))" stroke="#888"/>
        <circle cx="\(tenths(x(index)))" cy="\(tenths(y(rate.middle)))" r="\(isBest ? 6 : 4)" fill="\(isBest ? "#c00" : "#06c")"/>
        <text x="\(tenths(x(index)))" y="\(tenths(height - margin + 18))" text-anchor="middle">\(rate.number)</text>
        """)
    }
    let path = rates.enumerated().map { "\(tenths(x($0.offset))),\(tenths(y($0.element.middle)))" }
    lines.append("<polyline fill=\"none\" stroke=\"#06c\" points=\"\(path.joined(separator: " "))\"/>")
    lines.append(
      """
      <text x="\(whole(width / 2))" y="\(whole(height - 12))" text-anchor="middle">operations at once (-j)</text>
      <text x="14" y="\(whole(margin - 14))">\(escaped(unit))</text>
      </svg>
      """)
    return lines.joined(separator: "\n") + "\n"
  }

  /// The next number of 1, 2, 5, 10, … so that the axis has round steps.
  private static func niceTop(_ most: Double) -> Double {
    guard most.isFinite, most > 0 else { return 1 }
    var power = 1.0
    while power * 10 <= most { power *= 10 }
    while power > most { power /= 10 }
    return [1, 2, 4, 5, 8, 10].map { $0 * power }.first { $0 >= most } ?? most
  }

  private static func whole(_ number: Double) -> String { String(Int(number)) }

  private static func tenths(_ number: Double) -> String {
    let rounded = (number * 10).rounded()
    guard rounded.isFinite, abs(rounded) < 1e15 else { return "0" }
    let (whole, rest) = Int(rounded).quotientAndRemainder(dividingBy: 10)
    return rest == 0 ? String(whole) : "\(rounded < 0 && whole == 0 ? "-" : "")\(whole).\(abs(rest))"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
