import Synchronization
import Testing

@testable import BatchEngine

@Suite("Calls on several threads outside of a run")
struct RunContextStridesTests {
  @Test(
    "each number is used once, and the results are in their order",
    arguments: [1, 2, 7, 32], [0, 1, 7, 8, 100, 1001])
  func order(concurrency: Int, count: Int) {
    var options = BatchOptions()
    options.concurrency = concurrency
    let calls = Mutex<[Int]>([])
    let results = RunContext(options: options).strides(count, least: 4) { number in
      calls.withLock { $0.append(number) }
      return number * 3
    }
    #expect(results == (0..<count).map { $0 * 3 })
    #expect(calls.withLock { $0.sorted() } == Array(0..<count))
  }
}
