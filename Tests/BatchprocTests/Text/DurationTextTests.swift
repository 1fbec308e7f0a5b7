import Testing

@testable import batchproc

@Suite struct DurationTextTests {
  @Test(arguments: [
    (0, "0.00 s"), (0.31, "0.31 s"), (9.994, "9.99 s"), (9.995, "10.0 s"), (59.94, "59.9 s"),
    (59.95, "1m00s"),
    (63, "1m03s"), (3599.4, "59m59s"), (3599.5, "1h00m"), (7500, "2h05m"), (86_399.9, "1d00h"),
    (273_600, "3d04h"),
    (-1, "0.00 s"), (.nan, "?"), (.infinity, "?"), (1e300, "?"),
  ])
  func choosesTheUnit(seconds: Double, text: String) {
    #expect(DurationText.text(seconds: seconds) == text)
  }
}
