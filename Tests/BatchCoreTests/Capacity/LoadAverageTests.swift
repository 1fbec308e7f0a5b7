import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct LoadAverageTests {
  @Test(
    "the first number is the load of the last minute",
    arguments: [
      ("0.13 0.06 0.03 1/87 5570\n", 0.13), ("128.00 1 1", 128), ("7", 7), ("", nil), ("nan 1 1", nil),
      ("-1 2 3", nil),
      ("0x10 1 1", nil), ("1.2.3 1 1", nil), (". 1", nil), ("inf", nil),
    ] as [(String, Double?)])
  func lastMinute(content: String, expected: Double?) throws {
    let proc = try TreeFixture()
    try proc.file("loadavg", content)
    #expect(LoadAverage.lastMinute(proc: proc.root) == expected)
  }

  @Test("without proc there is none; here there is one")
  func mounted() throws {
    #expect(LoadAverage.lastMinute(proc: "/nonexistent") == nil)
    #expect(try #require(LoadAverage.lastMinute()) >= 0)
  }
}
