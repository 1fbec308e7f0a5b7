import Foundation
import TestSupport
import Testing

@testable import BatchCore

@Suite struct ConcurrencySweepTests {
  /// Runs a sweep in which each setting takes what `seconds` says, with some noise.
  private func sweep(
    most: Int = 64, budget: Double = 30, noise: Double = 0.01,
    seconds: (ConcurrencySweep.Setting) -> Double
  ) -> (sweep: ConcurrencySweep, elapsed: Double) {
    var sweep = ConcurrencySweep(most: most, seconds: budget)
    var numbers = SeededNumbers(seed: 1)
    var elapsed = 0.0
    while let setting = sweep.next(elapsed: elapsed) {
      let taken = seconds(setting) * (1 + noise * Double.random(in: -1...1, using: &numbers))
      elapsed += taken
      sweep.measured(seconds: taken)
      if elapsed > 1000 { break }
    }
    return (sweep, elapsed)
  }

  @Test("On processors the smallest number that uses all of them is recommended", arguments: [2, 4, 8])
  func processors(count: Int) {
    let found = sweep {
      0.5 * max(1, Double(count) / Double($0.concurrency)) * (1 + 0.001 * Double($0.concurrency))
    }
    #expect(found.sweep.recommendation == .init(concurrency: count))
    #expect(found.elapsed <= 32)
  }

  @Test func aDiskIsReadByOne() {
    let found = sweep { 0.4 * (1 + 0.2 * Double($0.concurrency - 1)) }
    #expect(found.sweep.recommendation?.concurrency == 1)
    // More is not measured when it is hopeless.
    #expect(found.sweep.points.last?.seconds.isEmpty == true)
  }

  @Test func aWideDeviceIsReadByMany() {
    let found = sweep { 6 / Double(min($0.concurrency, 48)) }
    #expect(found.sweep.recommendation?.concurrency == 48)
  }

  @Test func aStrideIsRecommendedWhereItIsClearlyFaster() {
    let faster = sweep { $0.stride == 64 ? 0.3 : 0.4 }
    #expect(faster.sweep.recommendation == .init(concurrency: 1, stride: 64))
    let hardly = sweep { $0.stride == 64 ? 0.395 : 0.4 }
    #expect(hardly.sweep.recommendation == .init(concurrency: 1))
  }

  @Test func whatContendsIsMeasuredUntilItsSpreadIsKnown() {
    let found = sweep(noise: 0.08) { $0.concurrency == 2 ? 0.1 : $0.concurrency == 3 ? 0.102 : 0.15 }
    let runs = found.sweep.points.map(\.seconds.count)
    #expect(runs[1] > 3 && runs[1] <= 9, "\(runs)")
    #expect(runs[0] <= 3, "\(runs)")
    #expect(found.sweep.points[1].spread != nil)
  }

  @Test func theTimeIsKept() {
    let found = sweep(budget: 5) { _ in 1 }
    #expect(found.elapsed <= 20)
    #expect(found.sweep.recommendation != nil)
    var none = ConcurrencySweep(most: 4, seconds: 5)
    #expect(none.next(elapsed: 0) == .init(concurrency: 1))
    #expect(none.recommendation == nil)
  }

  @Test(arguments: [1, 2, 5, 7, 64, 100]) func measuresNoMoreThanTheMost(most: Int) {
    let found = sweep(most: most, budget: 60) { 1 / Double($0.concurrency) }
    #expect(found.sweep.points.last?.setting.concurrency == most)
    #expect(found.sweep.recommendation?.concurrency == most)
  }

  @Test func theMedianIsThatOfAllRuns() {
    var sweep = ConcurrencySweep(most: 1, seconds: 100)
    for seconds in [3.0, 1, 2] {
      _ = sweep.next(elapsed: 0)
      sweep.measured(seconds: seconds)
    }
    #expect(sweep.points[0].median == 2)
    #expect(sweep.points[0].spread == 1)
  }

  @Test func theChartHasEachPoint() {
    let found = sweep { 1 / Double($0.concurrency) }.sweep
    let svg = TuningChart.svg(found.points, work: 100, unit: "MB/s", title: "a < b & c", recommended: 64)
    #expect(svg.hasPrefix("<svg "))
    #expect(svg.hasSuffix("</svg>\n"))
    #expect(svg.contains("a &lt; b &amp; c"))
    #expect(
      svg.components(separatedBy: "<circle ").count - 1 == found.points.filter { !$0.seconds.isEmpty }.count)
    #expect(svg.components(separatedBy: "fill=\"#c00\"").count - 1 == 1)
  }
}
