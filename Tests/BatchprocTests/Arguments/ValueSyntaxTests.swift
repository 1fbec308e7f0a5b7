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
