import Testing

@testable import batchproc

@Suite struct ByteCountTests {
  @Test(arguments: [
    (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1_048_524, "1023.9 KiB"),
    (1_048_525, "1.0 MiB"), (1_048_575, "1.0 MiB"), (487_587_840, "465.0 MiB"), (1 << 30, "1.0 GiB"),
    (1 << 40, "1.0 TiB"), (1 << 50, "1.0 PiB"), (Int64.max, "8.0 EiB"), (-1, "0 B"), (Int64.min, "0 B"),
  ])
  func roundsToOneDecimal(bytes: Int64, text: String) {
    #expect(ByteCount.text(bytes) == text)
  }

  @Test func hasNoRateWithoutTime() {
    #expect(ByteCount.rate(1024, seconds: 0.5) == "2.0 KiB/s")
    #expect(ByteCount.rate(0, seconds: 1) == nil)
    #expect(ByteCount.rate(1, seconds: 0) == nil)
    #expect(ByteCount.rate(1, seconds: .nan) == nil)
    #expect(ByteCount.rate(1, seconds: 1e-300) == nil)
  }

  @Test(arguments: [
    (0, "0"), (999, "999"), (1000, "1,000"), (44_128, "44,128"), (1_000_000, "1,000,000"), (-1234, "-1,234"),
    (Int.max, "9,223,372,036,854,775,807"), (Int.min, "-9,223,372,036,854,775,808"),
  ])
  func groupsDigits(number: Int, text: String) {
    #expect(ByteCount.grouped(number) == text)
  }
}
