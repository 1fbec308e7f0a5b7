import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ManifestTimeTests {
  @Test(
    arguments: [
      (0, 0, "0.000000000", "0.000000000"), (1, 5, "1.000000005", "1.000000005"),
      (-1, 500_000_000, "-1.500000000", "-0.500000000"), (-2, 0, "-2.000000000", "-2.000000000"),
      (-5, 1, "-5.000000001", "-4.999999999"),
      (.max, 999_999_999, "9223372036854775807.999999999", "9223372036854775807.999999999"),
      (.min, 0, "-9223372036854775808.000000000", "-9223372036854775808.000000000"),
      (.min, 1, "-9223372036854775808.000000001", "-9223372036854775807.999999999"),
    ] as [(Int64, Int32, String, String)])
  func roundTripsAsFieldsAndAsNumber(seconds: Int64, nanoseconds: Int32, fields: String, number: String) {
    let time = FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
    var text = [UInt8]()
    time.appendFields(to: &text)
    #expect(String(decoding: text, as: UTF8.self) == fields)
    #expect(FileStatus.Time(fields: text[...]) == time)
    text = []
    time.appendNumber(to: &text)
    #expect(String(decoding: text, as: UTF8.self) == number)
    #expect(FileStatus.Time(number: text[...]) == time)
  }

  @Test func readsFractionsOfAnyLength() {
    #expect(FileStatus.Time(fields: Array("7.25".utf8)[...]) == FileStatus.Time(seconds: 7, nanoseconds: 25))
    #expect(FileStatus.Time(fields: Array("7".utf8)[...]) == FileStatus.Time(seconds: 7, nanoseconds: 0))
    for text in ["-0.250000000", "-0.0250000000"] {
      let time = FileStatus.Time(seconds: -1, nanoseconds: 750_000_000)
      #expect(FileStatus.Time(fields: Array(text.utf8)[...]) == time)
    }
    #expect(FileStatus.Time(fields: Array("-0.0".utf8)[...]) == FileStatus.Time(seconds: 0, nanoseconds: 0))
    #expect(
      FileStatus.Time(number: Array("7.25".utf8)[...])
        == FileStatus.Time(seconds: 7, nanoseconds: 250_000_000))
    #expect(
      FileStatus.Time(number: Array("7.12345678999".utf8)[...])
        == FileStatus.Time(seconds: 7, nanoseconds: 123_456_789))
  }

  @Test(arguments: [
    "", "-", ".", "1.", "x", "1.x", "+1", "--1", "1e3", "9223372036854775808", "99999999999999999999",
  ])
  func refusesInvalidTimes(text: String) {
    #expect(FileStatus.Time(fields: Array(text.utf8)[...]) == nil)
    #expect(FileStatus.Time(number: Array(text.utf8)[...]) == nil)
  }

  @Test func refusesTimesThatOverflow() {
    #expect(FileStatus.Time(fields: Array("1.1000000000".utf8)[...]) == nil)
    #expect(FileStatus.Time(number: Array("-9223372036854775808.5".utf8)[...]) == nil)
  }
}
