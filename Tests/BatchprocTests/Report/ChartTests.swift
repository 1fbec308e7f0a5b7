import Foundation
import Testing

@testable import batchproc

@Suite struct ChartTests {
  /// The labels of an axis up to a given value.
  struct Case: Sendable {
    let most: Double
    let labels: [String]
    var suffix = ""
  }

  private static let sizes: [(Double, [String], String)] = [
    (10, ["0", "5", "10"], "B"), (700, ["0", "200", "400", "600", "800"], "B"),
    (300 * 1024, ["0", "100", "200", "300"], "KiB"), (1.2 * 1_048_576, ["0.0", "0.5", "1.0", "1.5"], "MiB"),
    (0, ["0", "1"], "B"), (.nan, ["0", "1"], "B"), (.infinity, ["0", "1"], "B"),
  ]

  @Test(arguments: sizes.map { Case(most: $0.0, labels: $0.1, suffix: $0.2) })
  func axesOfBytesHaveRoundMarks(one: Case) {
    let (most, labels, suffix) = (one.most, one.labels, one.suffix)
    let scale = ChartScale(to: most, .bytes)
    #expect((0...scale.marks).map(scale.label) == labels)
    #expect(scale.suffix == suffix)
    if most.isFinite { #expect(scale.top >= most) }
  }

  private static let counts = [
    Case(most: 3, labels: ["0", "1", "2", "3"]), Case(most: 1, labels: ["0", "1"]),
    Case(most: 12_000, labels: ["0", "5,000", "10,000", "15,000"]),
  ]

  @Test(arguments: counts)
  func countsAreWhole(one: Case) {
    let (most, labels) = (one.most, one.labels)
    let scale = ChartScale(to: most, .count)
    #expect((0...scale.marks).map(scale.label) == labels)
    #expect(scale.suffix == "")
  }

  private static let times: [(Double, [String], String)] = [
    (0.035, ["0", "10", "20", "30"], "milliseconds"), (9.5, ["0", "2", "4", "6", "8"], "seconds"),
    (600, ["0", "2", "4", "6", "8", "10"], "minutes"), (36_000, ["0", "2", "4", "6", "8", "10"], "hours"),
    (1e6, ["0", "5", "10"], "days"),
  ]

  @Test(arguments: times.map { Case(most: $0.0, labels: $0.1, suffix: $0.2) })
  func timeEndsWithTheRun(one: Case) {
    let (most, labels, suffix) = (one.most, one.labels, one.suffix)
    let scale = ChartScale(to: most, .seconds, isTight: true)
    #expect((0...scale.marks).map(scale.label) == labels)
    #expect(scale.suffix == suffix && scale.top <= most)
  }

  private static let numbers: [(Double, Int, String)] = [
    (1234.5, 1, "1,234.5"), (0.06, 2, "0.06"), (-2, 0, "-2"), (.nan, 1, "0"), (0.999, 2, "1.00"),
    (1e300, 0, "0"),
  ]

  @Test func decimals() {
    for (number, digits, text) in Self.numbers { #expect(Decimals.text(number, digits) == text) }
  }

  @Test func aChartHasATextDescription() {
    let chart = Chart(
      title: "Bytes <read>", unit: .bytes, perSecond: true, noun: "", axis: .time([0, 1, 4]),
      series: [.init(name: "", form: .area, values: [2048, 1024])], description: "It falls & ends.", id: "c")
    var writer = HTMLWriter()
    chart.append(to: &writer)
    let page = String(decoding: writer.bytes, as: UTF8.self)
    #expect(page.contains(#"role="img" aria-labelledby="c-title c-desc""#))
    #expect(
      page.contains(
        #"<title id="c-title">Bytes &lt;read&gt;</title><desc id="c-desc">It falls &amp; ends.</desc>"#))
    #expect(page.contains("KiB/s") && page.contains(">seconds<"))
    // The first interval takes a quarter of the width, at the top of the scale.
    #expect(page.contains(#"class="line" d="M56 10H158.5V92H466""#), "\(page)")
  }

  @Test(arguments: [0, 1, 2, 60, 1000])
  func aChartOfAnyNumberOfPlacesIsDrawn(count: Int) {
    let chart = Chart(
      title: "t", unit: .count, perSecond: false, noun: "files", axis: .places((0..<count).map(String.init)),
      series: [
        .init(name: "a", form: .bars, values: (0..<count).map { $0.isMultiple(of: 2) ? nil : Double($0) }),
        .init(name: "b", form: .points, values: (0..<count).map(Double.init), isSecond: true),
      ], description: "d", id: "c")
    var writer = HTMLWriter()
    chart.append(to: &writer)
    let page = String(decoding: writer.bytes, as: UTF8.self)
    #expect(page.matches(of: /M[0-9.]+ 174V/).count == count / 2)
    #expect(page.utf8.count < 3000 + count * 60)
    #expect(!page.contains("nan") && !page.contains("inf"))
  }
}
