/// A chart, drawn as SVG within a page, with a text description.
struct Chart: Sendable {
  /// How the values of a series are drawn.
  enum Form: Sendable {
    /// Steps over the intervals of time, filled below.
    case area
    case steps
    /// Columns; nil leaves one out.
    case bars
    /// A line with a point for each value.
    case points
  }

  struct Series: Sendable {
    /// The name in the key below the title; empty if there is one series.
    let name: String
    let form: Form
    let values: [Double?]
    /// Whether it has the second color.
    var isSecond = false
  }

  /// The lower axis.
  enum Axis: Sendable {
    /// Moments in seconds from 0: the borders of intervals, one more than the values.
    case time([Double])
    /// One place for each value, with its label.
    case places([String])
  }

  let title: String
  /// The unit after the title: `MiB/s` for bytes, otherwise the counted things.
  let unit: ChartScale.Unit
  let perSecond: Bool
  let noun: String
  let axis: Axis
  let series: [Series]
  /// A description of the chart for screen readers.
  let description: String
  /// Unique in the page.
  let id: String

  private static let width = 480.0
  /// The position of the lowest mark.
  private static let floor = 174.0
  private static let (left, right, top) = (56.0, 14.0, 10.0)

  /// A time axis has its unit below the labels.
  private var height: Double {
    if case .time = axis { Self.floor + 42 } else { Self.floor + 26 }
  }

  private var scale: ChartScale {
    ChartScale(to: series.flatMap(\.values).compactMap { $0 }.max() ?? 0, unit)
  }

  func append(to page: inout HTMLWriter) {
    let scale = scale
    page.element("figure") { page in
      page.element("figcaption") { page in
        page.text(title)
        let unit = scale.suffix.isEmpty ? noun : scale.suffix
        page.element("span", ["class": "note"]) { page in
          page.text(unit + (perSecond ? "/s" : ""))
          for one in series where !one.name.isEmpty {
            page.element("span", ["class": one.isSecond ? "key key2" : "key key1"], "")
            page.text(one.name)
          }
        }
      }
      page.element(
        "svg",
        [
          "viewBox": "0 0 \(Decimals.place(Self.width)) \(Decimals.place(height))", "role": "img",
          "aria-labelledby": "\(id)-title \(id)-desc",
        ]
      ) { page in
        page.element("title", ["id": "\(id)-title"], title)
        page.element("desc", ["id": "\(id)-desc"], description)
        drawGrid(scale, on: &page)
        for one in series { draw(one, scale, on: &page) }
        drawAxis(on: &page)
      }
    }
    page.markup("\n")
  }

  // MARK: Places

  private var plotWidth: Double { Self.width - Self.left - Self.right }

  private func y(_ value: Double, _ scale: ChartScale) -> Double {
    let part = scale.top > 0 ? min(max(0, value / scale.top), 1) : 0
    return Self.floor - (Self.floor - Self.top) * part
  }

  /// The left and the right end of a value.
  private func span(_ index: Int) -> (Double, Double) {
    switch axis {
    case .time(let times):
      guard let last = times.last, last > 0, index + 1 < times.count else { return (Self.left, Self.left) }
      return (Self.left + plotWidth * times[index] / last, Self.left + plotWidth * times[index + 1] / last)
    case .places(let labels):
      let width = plotWidth / Double(max(1, labels.count))
      return (Self.left + width * Double(index), Self.left + width * Double(index + 1))
    }
  }

  // MARK: Drawing

  private func drawGrid(_ scale: ChartScale, on page: inout HTMLWriter) {
    for mark in 0...scale.marks {
      let height = y(scale.step * Double(mark), scale)
      page.shape(
        "line",
        [
          "class": mark == 0 ? "axis" : "grid", "x1": Decimals.place(Self.left),
          "x2": Decimals.place(Self.width - Self.right), "y1": Decimals.place(height),
          "y2": Decimals.place(height),
        ])
      page.element(
        "text", ["x": Decimals.place(Self.left - 7), "y": Decimals.place(height + 4), "text-anchor": "end"],
        scale.label(mark))
    }
  }

  private func drawAxis(on page: inout HTMLWriter) {
    switch axis {
    case .time(let times):
      let scale = ChartScale(to: times.last ?? 0, .seconds, isTight: true)
      let last = max(times.last ?? 0, 1e-9)
      for mark in 0...scale.marks {
        let place = Self.left + plotWidth * min(1, scale.step * Double(mark) / last)
        label(scale.label(mark), at: place, "middle", 16, on: &page)
      }
      label(scale.suffix, at: Self.left + plotWidth / 2, "middle", 34, on: &page)
    case .places(let labels):
      guard let first = labels.first, let last = labels.last else { return }
      guard labels.count > 1 else {
        return label(first, at: Self.left + plotWidth / 2, "middle", 16, on: &page)
      }
      label(first, at: Self.left, "start", 16, on: &page)
      label(last, at: Self.width - Self.right, "end", 16, on: &page)
      if labels.count > 8 {
        label(labels[labels.count / 2], at: Self.left + plotWidth / 2, "middle", 16, on: &page)
      }
    }
  }

  private func label(
    _ text: String, at place: Double, _ anchor: String, _ below: Double, on page: inout HTMLWriter
  ) {
    page.element(
      "text", ["x": Decimals.place(place), "y": Decimals.place(Self.floor + below), "text-anchor": anchor],
      text)
  }

  private func draw(_ series: Series, _ scale: ChartScale, on page: inout HTMLWriter) {
    let line = series.isSecond ? "line2" : "line"
    switch series.form {
    case .area:
      let outline = steps(series.values, scale)
      guard !outline.isEmpty else { return }
      page.shape("path", ["class": "area", "d": closed(outline, series.values.count)])
      page.shape("path", ["class": line, "d": outline])
    case .steps:
      let outline = steps(series.values, scale)
      if !outline.isEmpty { page.shape("path", ["class": line, "d": outline]) }
    case .bars:
      let bars = bars(series.values, scale)
      if !bars.isEmpty { page.shape("path", ["class": series.isSecond ? "bar2" : "bar", "d": bars]) }
    case .points: drawPoints(series.values, scale, line, isSecond: series.isSecond, on: &page)
    }
  }

  private func steps(_ values: [Double?], _ scale: ChartScale) -> String {
    var path = ""
    for (index, value) in values.enumerated() {
      let (start, end) = span(index)
      let height = Decimals.place(y(value ?? 0, scale))
      path += path.isEmpty ? "M\(Decimals.place(start)) \(height)" : "V\(height)"
      path += "H\(Decimals.place(end))"
    }
    return path
  }

  private func closed(_ outline: String, _ count: Int) -> String {
    let (start, _) = span(0)
    return outline + "V\(Decimals.place(Self.floor))H\(Decimals.place(start))Z"
  }

  private func bars(_ values: [Double?], _ scale: ChartScale) -> String {
    var path = ""
    for (index, value) in values.enumerated() {
      guard let value else { continue }
      let (start, end) = span(index)
      let gap = min((end - start) * 0.2, 6)
      let width = min(end - start - gap, 48)
      let left = (start + end - width) / 2
      // Small values must still be visible.
      let height = min(y(value, scale), value > 0 ? Self.floor - 1 : Self.floor)
      path += "M\(Decimals.place(left)) \(Decimals.place(Self.floor))V\(Decimals.place(height))"
      path += "H\(Decimals.place(left + width))V\(Decimals.place(Self.floor))Z"
    }
    return path
  }

  private func drawPoints(
    _ values: [Double?], _ scale: ChartScale, _ line: String, isSecond: Bool, on page: inout HTMLWriter
  ) {
    let places = values.enumerated().compactMap { index, value in
      value.map { (x: (span(index).0 + span(index).1) / 2, y: y($0, scale)) }
    }
    let path = places.map { "\(Decimals.place($0.x)) \(Decimals.place($0.y))" }.joined(separator: "L")
    guard !path.isEmpty else { return }
    page.shape("path", ["class": line, "d": "M" + path])
    guard places.count <= 40 else { return }
    for place in places {
      page.shape(
        "circle",
        [
          "class": isSecond ? "bar2" : "bar", "cx": Decimals.place(place.x), "cy": Decimals.place(place.y),
          "r": places.count < 15 ? "3" : "2",
        ])
    }
  }
}
