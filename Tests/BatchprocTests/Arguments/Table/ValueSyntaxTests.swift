import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct ValueSyntaxTests {
  private func value(_ syntax: ValueSyntax, _ text: PathBytes) -> OptionValue? { try? syntax.parse(text) }

  @Test(arguments: [
    ("0", 0), ("1", 1), ("512B", 512), ("64K", 65_536), ("64k", 65_536), ("64KiB", 65_536),
    ("10MiB", 10_485_760), ("1.5G", 1_610_612_736), ("1kB", 1000), ("1KB", 1000), ("2MB", 2_000_000),
    ("0.5K", 512), ("1.0000000000000000000001K", 1024), ("0.1K", 102),
    ("7.999999999999999999E", 9_223_372_036_854_774_655),
    ("9223372036854775807", Int64.max), ("7E", 7 << 60), ("000064K", 65_536),
  ])
  func readsSizes(text: String, bytes: Int64) {
    #expect(value(.size(minimum: 0), PathBytes(text)) == .size(bytes))
  }

  @Test(arguments: [
    "", "K", "-1", "+1", "1.5", "1.K", ".5K", "1..5K", "1e3", "0x10", "1 K", " 1", "1K ", "1KK", "1Ki", "1iB",
    "1KiBs", "1Z", "1,5K", "\u{0661}", "1\u{0}", "nan",
  ])
  func refusesInvalidSizes(text: String) {
    #expect(value(.size(minimum: 0), PathBytes(text)) == nil)
  }

  @Test(arguments: [
    "9223372036854775808", "8E", "8EiB", "9.3EB", "18446744073709551616", "99999999999999999999999999K",
    "16777216T", "18446744073709551615K",
  ])
  func refusesSizesAboveSixtyThreeBits(text: String) {
    #expect(throws: ValueSyntax.Mismatch.tooLarge) { try ValueSyntax.size(minimum: 0).parse(PathBytes(text)) }
  }

  @Test func comparesSizesWithTheirMinimum() {
    #expect(value(.size(minimum: 1), "0") == nil)
    #expect(value(.size(minimum: 1), "0.0001K") == nil)
    #expect(value(.size(minimum: 1), "1") == .size(1))
  }

  @Test(arguments: [("0", 0), ("7", 7), ("022", 22)])
  func readsNumbersOfARange(text: String, number: Int) {
    #expect(value(.number(0...22), PathBytes(text)) == .count(number))
  }

  @Test(arguments: ["", "-1", "23", "1.0", "x", "18446744073709551616", "auto"])
  func refusesNumbersOutsideOfTheRange(text: String) {
    #expect(value(.number(0...22), PathBytes(text)) == nil)
  }

  @Test(arguments: [("1", 1), ("999999", 999_999), ("007", 7), ("9223372036854775807", Int.max)])
  func readsCounts(text: String, count: Int) {
    #expect(value(.count(allowsAuto: false), PathBytes(text)) == .count(count))
  }

  @Test(arguments: [
    "", "0", "-1", "+1", "1e3", "1.0", "0x8", " 8", "8 ", "=8", "Auto", "auto8", "9223372036854775808",
    "18446744073709551615", "18446744073709551616", "\u{664}", "\u{ff18}",
  ])
  func refusesInvalidCounts(text: String) {
    #expect(value(.count(allowsAuto: true), PathBytes(text)) == nil)
  }

  @Test func acceptsAutoWhenItIsAllowed() {
    #expect(value(.count(allowsAuto: true), "auto") == .count(nil))
    #expect(value(.count(allowsAuto: false), "auto") == nil)
  }

  @Test(arguments: [("1", 1.0), ("0.25", 0.25), ("3.50", 3.5), ("100", 100)])
  func readsLoads(text: String, number: Double) {
    #expect(value(.load, PathBytes(text)) == .load(.average(number)))
    #expect(value(.load, PathBytes("pressure:" + text)) == (number < 100 ? .load(.pressure(number)) : nil))
  }

  @Test(arguments: [
    "", "0", "0.0", "0.00001", "10000000000000000", "-1", ".5", "1.", "1.2.3", "1e3", "inf", "nan", "0x1p3",
    "1,5",
    String(repeating: "9", count: 400), "pressure", "pressure:20%", "Pressure:20", "memory:20", "20:pressure",
  ])
  func refusesInvalidLoads(text: String) {
    #expect(value(.load, PathBytes(text)) == nil)
    #expect(value(.load, PathBytes("pressure:" + text)) == nil)
  }

  @Test(arguments: [
    ("vanished=ok", Problem.Event.vanished, EventPolicy.Action.ok), ("changed=warn", .changed, .warn),
    ("unreadable=fail", .unreadable, .fail), ("special=retry:1", .special, .retry(1)),
    ("changed=retry:100", .changed, .retry(100)),
  ])
  func readsPolicies(text: String, event: Problem.Event, action: EventPolicy.Action) {
    #expect(value(.policy, PathBytes(text)) == .policy(event, action))
  }

  @Test(arguments: [
    "", "=", "changed", "changed=", "=ok", "Changed=ok", "changed=OK", "changed=ok=", "changed=retry",
    "changed=retry:", "changed=retry:0", "changed=retry:101", "changed=retry:-1", "changed=retry:1e1",
    "changed=retry:18446744073709551617",
  ])
  func refusesInvalidPolicies(text: String) {
    #expect(value(.policy, PathBytes(text)) == nil)
  }

  private static let hours: [(PathBytes, Int)] = [
    ("1h", 1), ("26 h", 26), ("7d", 168), ("1w", 168), ("3 days", 72), ("1d 12h", 36), ("12h1d", 36),
    ("2 weeks", 336), ("120 hours", 120), ("3 days ago", 72),
  ]

  @Test("ages, durations and spans of retention are read alike", arguments: hours)
  func readsAges(text: PathBytes, hours: Int) {
    #expect(value(.age, text) == .duration(Int64(hours) * 3600))
    #expect(value(.duration, text) == .duration(Int64(hours) * 3600))
    let span = value(.span, text)
    #expect(
      span == .span(Retention.Span(days: hours / 24, hours: hours % 24)) || hours % 24 != 0 || hours == 120)
    // What is passed on to another command is read in the same way.
    for syntax in [ValueSyntax.age, .duration, .span] {
      #expect(value(syntax, text).flatMap { value(syntax, $0.argument) } == value(syntax, text))
    }
  }

  @Test(
    "an age needs a unit; a duration and a number of days of a rule need none",
    arguments: ["2020", "0", "90"])
  func numbersWithoutUnits(text: String) {
    #expect(
      throws: ValueSyntax.Mismatch(
        sentence: "A number needs a unit, such as '\(text)d'; a date is written '2026-01-31'.")
    ) {
      try ValueSyntax.age.parse(PathBytes(text))
    }
    #expect(value(.span, PathBytes(text)) == nil)
    #expect(value(.duration, PathBytes(text)) == Int64(text).map { .duration($0) })
  }

  @Test("m is a month in a span of retention, and a minute elsewhere")
  func months() {
    #expect(value(.span, "1y6m") == .span(Retention.Span(years: 1, months: 6)))
    #expect(value(.span, "18 months") == .span(Retention.Span(months: 18)))
    #expect(value(.age, "6m") == .duration(360) && value(.duration, "6m") == .duration(360))
    #expect(
      value(.duration, "6 months") == nil && value(.duration, "1y") == nil && value(.span, "90s") == nil)
  }

  @Test(
    "yesterday, months and years are ages that the calendar decides",
    arguments: ["today", "yesterday", "2month", "1y2month3d4s"])
  func calendarAges(text: PathBytes) throws {
    let age = try #require(value(.age, text))
    guard case .age(let time) = age else {
      Issue.record("\(age)")
      return
    }
    #expect(age.argument == text && value(.duration, text) == nil)
    // 2026-11-27 12:00 in UTC; the zone of the machine moves the moment by less than a day.
    let now: Int64 = 1_795_780_800
    let days = ["today": 0, "yesterday": 1, "2month": 61, "1y2month3d4s": 429][text.description] ?? 0
    let begun = (now - time.beginning(now: now)) / 86_400
    #expect((days - 1...days + 2).contains(Int(begun)), "\(begun)")
  }

  @Test("a date is its first moment", arguments: ["2026-01-31", "2026-01-31 00:00", "2026-01-31T00:00:00"])
  func dates(text: PathBytes) {
    #expect(value(.age, text) == value(.age, "2026-01-31"))
    #expect(value(.age, "@12") == .time(12))
  }

  @Test(arguments: [
    "", "d", "1.5h", "-1d", "+7", "1x", "7 d d", "1d,", "tomorrow", "2026-02-30", "20000000000d",
  ])
  func refusesInvalidAges(text: PathBytes) {
    for syntax in [ValueSyntax.age, .duration, .span] { #expect(value(syntax, text) == nil) }
  }

  @Test func comparesChoicesByBytes() {
    #expect(value(.choice(["caf\u{e9}"]), "cafe\u{301}") == nil)
    #expect(value(.choice(["gnu", "bsd"]), PathBytes([0xff])) == nil)
    #expect(value(.choice(["gnu", "bsd"]), "bsd") == .choice("bsd"))
    let algorithm = ValueSyntax.choice(["sha3-256", "Z"], aliases: [.init("sha3", "sha3-256")])
    #expect(value(algorithm, "SHA3") == .choice("sha3-256"))
    #expect(value(.choice(["sha3-256", "Z"]), "z") == .choice("Z"))
    #expect(value(.threads, "0") == .count(nil))
    #expect(value(.threads, "4") == .count(4))
  }

  @Test func acceptsEverySuggestion() {
    for syntax in CommandTable.standard.commands.flatMap(\.options).compactMap(\.syntax) {
      for text in syntax.suggestedValues { #expect(value(syntax, PathBytes(text)) != nil, "\(text)") }
    }
  }
}
