import Foundation
import TestSupport
import Testing

@testable import BatchCore

@Suite("A moment in the local time zone")
struct LocalTimeTests {
  /// Days around the end of different years, by date(1): year, month, day, hour, and the ISO year and week.
  @Test("has the periods that date(1) prints")
  func periods() throws {
    let moments = stride(from: Int64(0), to: 4_102_444_800, by: 86_400 * 3 + 7_777).filter {
      ($0 / 86_400 + 15) % 365 < 40
    }
    try #require(moments.count > 500)
    let made = try Outcome(
      shell: "date -f - '+%Y %m %d %H %G %V'", input: Array(moments.map { "@\($0)\n" }.joined().utf8),
      environment: ProcessInfo.processInfo.environment["TZ"].map { ["TZ": $0] } ?? [:])
    let lines = made.text.split(separator: "\n")
    try #require(made.status == 0 && lines.count == moments.count, "\(made.errorText)")
    for (moment, line) in zip(moments, lines) {
      let words = line.split(separator: " ").map(String.init)
      let time = LocalTime(moment)
      #expect(time.period(of: .hourly) == "\(words[0])-\(words[1])-\(words[2]) \(words[3])")
      #expect(time.period(of: .daily) == "\(words[0])-\(words[1])-\(words[2])")
      #expect(time.period(of: .monthly) == "\(words[0])-\(words[1])")
      #expect(time.period(of: .yearly) == words[0])
      #expect(time.period(of: .weekly) == "\(words[4]) \(words[5])", "\(line)")
      #expect(time.period(of: .last).isEmpty)
    }
  }

  @Test("minus a span is the earlier calendar day, also when that month is shorter")
  func spans() {
    // Noon of 31 March 2024 in UTC, which is the same day in zones from -11 to +11.
    let noon: Int64 = 1_711_886_400
    func before(_ span: Retention.Span) -> String {
      LocalTime(LocalTime(noon).seconds(before: span)).period(of: .daily)
    }
    #expect(before(Retention.Span()) == "2024-03-31")
    #expect(before(Retention.Span(years: 1)) == "2023-03-31")
    #expect(before(Retention.Span(months: 1)) == "2024-03-02", "30 and 31 February are days of March")
    #expect(before(Retention.Span(days: 31)) == "2024-02-29")
    #expect(before(Retention.Span(hours: 48)) == "2024-03-29")
  }

  @Test("a text is a stamp if it is a moment")
  func stamps() {
    func check(_ stamp: String) {
      let isStamp = Array(stamp.utf8).withUnsafeBufferPointer { LocalTime.isStamp($0) }
      #expect(isStamp == (LocalTime.seconds(ofStamp: stamp.utf8) != nil), "\(stamp)")
    }
    for year in ["0000", "1900", "1999", "2000", "2024", "2026", "2100", "9999"] {
      for month in 0...13 {
        for day in [0, 1, 28, 29, 30, 31, 32] {
          check("\(year)\(month / 10)\(month % 10)\(day / 10)\(day % 10)T120000Z")
        }
      }
    }
    for time in ["000000", "235959", "240000", "236000", "235960", "1200 0", "-10000", "12000:"] {
      check("20260131T\(time)Z")
    }
    for text in ["", "20260131T120000", "20260131T120000Z ", "20260131t120000Z", "20260131T120000z"] {
      check(text)
    }
  }
}
