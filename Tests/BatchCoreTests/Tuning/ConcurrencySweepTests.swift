import Foundation
import TestSupport
import Testing

@testable import BatchCore

@Suite struct ConcurrencySweepTests {
  /// Runs a sweep in which each setting takes the time that `seconds` gives, with some noise.
  private func sweep(
    most: Int = 64, parts: Int = .max, budget: Double = 30, noise: Double = 0.01, seed: UInt64 = 1,
    seconds: (ConcurrencySweep.Setting) -> Double
  ) -> (sweep: ConcurrencySweep, elapsed: Double) {
    var sweep = ConcurrencySweep(most: most, parts: parts, seconds: budget)
    var numbers = SeededNumbers(seed: seed)
    var elapsed = 0.0
    while let setting = sweep.next(elapsed: elapsed) {
      let taken = seconds(setting) * (1 + noise * Double.random(in: -1...1, using: &numbers))
      elapsed += taken
      sweep.measured(seconds: taken)
      if elapsed > 1000 { break }
    }
    return (sweep, elapsed)
  }

  @Test("On processors, the smallest number that uses all of them is recommended", arguments: [2, 4, 8])
  func processors(count: Int) {
    let found = sweep {
      0.5 * max(1, Double(count) / Double($0.concurrency)) * (1 + 0.001 * Double($0.concurrency))
    }
    #expect(found.sweep.recommendation == .init(concurrency: count))
    #expect(found.elapsed <= 32)
  }

  @Test func oneOperationIsRecommendedForADiskThatIsSlowerWithMore() {
    let found = sweep { 0.4 * (1 + 0.2 * Double($0.concurrency - 1)) }
    #expect(found.sweep.recommendation?.concurrency == 1)
    // A greater number is not measured when it cannot be faster.
    #expect(found.sweep.points.last?.seconds.isEmpty == true)
  }

  @Test func manyOperationsAreRecommendedForADeviceThatServesMany() {
    let found = sweep { 6 / Double(min($0.concurrency, 48)) }
    #expect(found.sweep.recommendation?.concurrency == 48)
  }

  @Test func aStrideIsRecommendedWhenItIsClearlyFaster() {
    let faster = sweep { $0.stride == 64 ? 0.3 : 0.4 }
    #expect(faster.sweep.recommendation?.stride == 64)
    #expect(faster.sweep.recommendation?.concurrency == 1)
    let hardly = sweep { $0.stride == 64 ? 0.395 : 0.4 }
    #expect(hardly.sweep.recommendation?.stride == nil)
    #expect(hardly.sweep.recommendation?.concurrency == 1)
  }

  @Test("When all numbers are equally fast, the smallest is recommended as a flat curve")
  func aFlatCurve() {
    let found = sweep { 0.3 + 0.00001 * Double($0.concurrency) }.sweep.recommendation
    #expect(found?.concurrency == 1)
    guard case .flat(let part) = found?.reason else {
      Issue.record("\(String(describing: found))")
      return
    }
    #expect(part <= 0.02)
  }

  @Test("When runs of one setting differ as much as the settings, auto is recommended", arguments: 1...20)
  func noise(seed: UInt64) {
    let found = sweep(noise: 0.3, seed: seed) { 0.3 * (1 + 0.001 * Double($0.concurrency)) }.sweep
    let recommendation = found.recommendation
    guard recommendation?.concurrency != nil else {
      guard case .noise(let part) = recommendation?.reason else {
        Issue.record("\(String(describing: recommendation))")
        return
      }
      #expect(part > 0.1)
      return
    }
    // By chance one setting may seem slower. Then the smallest number within the noise is recommended, not a
    // large one.
    #expect(recommendation?.concurrency ?? 0 <= 3, "\(found.points)")
    #expect(recommendation?.reason != nil)
  }

  @Test(
    "When the curve is not flat, the smallest number within the noise of the best is recommended",
    arguments: 1...20)
  func noisyProcessors(seed: UInt64) {
    let found = sweep(noise: 0.15, seed: seed) { 0.5 * max(1, 4 / Double($0.concurrency)) }.sweep
    #expect(
      [4, 6, 8].contains(found.recommendation?.concurrency), "\(found.points.map { ($0.setting, $0.median) })"
    )
    if case .nearest = found.recommendation?.reason {} else { Issue.record("no reason") }
  }

  @Test("Runs that are too short give no recommendation", arguments: [0.0004, 0.01])
  func shortRuns(seconds: Double) {
    // Without a limit each setting is measured 500 times, which takes long without optimization.
    let budget = Campaign.isFull ? 30 : 5 * seconds
    let found = sweep(budget: budget, noise: 0.4) { seconds / Double(min($0.concurrency, 40)) }.sweep
    guard case .shortRuns(let taken) = found.recommendation?.reason else {
      Issue.record("\(String(describing: found.recommendation))")
      return
    }
    #expect(taken <= seconds)
    #expect(found.recommendation?.concurrency == nil)
    #expect(found.recommendation?.stride == nil)
  }

  @Test("A best number equal to the number of parts gives no recommendation")
  func fewParts() {
    let few = sweep(parts: 5) { 0.5 / Double(min($0.concurrency, 5)) }.sweep
    #expect(few.points.last?.setting.concurrency == 5)
    #expect(few.recommendation == .init(concurrency: nil, reason: .fewParts))
    #expect(sweep(parts: 1) { _ in 1 }.sweep.recommendation == .init(concurrency: nil, reason: .fewParts))
    // The best number of two is below the five parts, so it is recommended.
    let two = sweep(parts: 5) { 0.5 / Double(min($0.concurrency, 2)) }.sweep
    #expect(two.recommendation?.concurrency == 2)
  }

  @Test("Short runs that differ use the given time", arguments: [5.0, Campaign.isFull ? 30 : 12])
  func usesTheTime(budget: Double) {
    let found = sweep(most: 8, budget: budget, noise: 0.3) { _ in 0.03 }
    #expect(found.elapsed > budget / 2 && found.elapsed < budget + 1, "\(found.elapsed)")
  }

  @Test func theBestSettingsAreMeasuredUntilTheirSpreadIsKnown() {
    let found = sweep(noise: 0.08) { $0.concurrency == 2 ? 0.1 : $0.concurrency == 3 ? 0.102 : 0.15 }
    let runs = found.sweep.points.map(\.seconds.count)
    #expect(runs[1] > 3 && runs[1] <= 500, "\(runs)")
    #expect(runs[0] <= 3, "\(runs)")
    #expect(found.sweep.points[1].spread != nil)
  }

  @Test func theBudgetOfTimeIsKept() {
    let found = sweep(budget: 5) { _ in 1 }
    #expect(found.elapsed <= 20)
    #expect(found.sweep.recommendation != nil)
    var none = ConcurrencySweep(most: 4, seconds: 5)
    #expect(none.next(elapsed: 0) == .init(concurrency: 1))
    #expect(none.recommendation == nil)
  }

  @Test(arguments: [1, 2, 5, 7, 64, 100]) func measuresNoNumberAboveTheLimit(most: Int) {
    let found = sweep(most: most, budget: 60) { 3 / Double($0.concurrency) }
    #expect(found.sweep.points.last?.setting.concurrency == most)
    #expect(found.sweep.recommendation?.concurrency == most)
  }

  @Test func theMedianIsTakenOfAllRuns() {
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
