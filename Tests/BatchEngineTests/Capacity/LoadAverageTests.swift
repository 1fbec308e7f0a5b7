import TestSupport
import Testing

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

  @Test(
    "the pressure is the share of the last 10 s in which some thread waited",
    arguments: [
      ("some avg10=12.34 avg60=1.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00\n", 12.34),
      ("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", 0), ("some avg10=100.00", 100), ("", nil),
      ("full avg10=1.00 avg60=0.00", nil), ("some avg10=nan", nil), ("some avg10=", nil),
    ] as [(String, Double?)])
  func pressure(content: String, expected: Double?) throws {
    let proc = try TreeFixture()
    try proc.file("pressure/cpu", content)
    #expect(LoadLimit.pressure(50).load(proc: proc.root) == expected)
    #expect(LoadLimit.average(50).load(proc: proc.root) == nil)
  }

  @Test("the load and the pressure are nil without /proc, and are read on this machine")
  func mounted() throws {
    #expect(LoadAverage.lastMinute(proc: "/nonexistent") == nil)
    #expect(try #require(LoadAverage.lastMinute()) >= 0)
  }
}
