import Testing

@testable import batchproc

@Suite struct ProgressBarTests {
  private let halfway = ProgressState(
    filesDone: 22_064, filesTotal: 44_128, bytesDone: 232 << 20, bytesTotal: 464 << 20, elapsed: 2)

  private func line(_ state: ProgressState, width: Int) -> String {
    var bar = ProgressBar()
    return String(decoding: bar.render(state, width: width), as: UTF8.self)
  }

  @Test func showsFilesBytesRateAndTimeLeft() {
    #expect(
      line(halfway, width: 120)
        == "[#########---------]   50%  232.0 MiB of 464.0 MiB  22,064 of 44,128 files  116.0 MiB/s  2.00 s left"
    )
  }

  @Test func showsTheKnownValuesWithoutTotals() {
    let state = ProgressState(filesDone: 1, bytesDone: 2048, elapsed: 2)
    #expect(line(state, width: 79) == "2.0 KiB  1 file  1.0 KiB/s  2.00 s elapsed")
  }

  /// The bar in a terminal of 80 and of 40 columns, of which three are left for `^C`.
  @Test(arguments: [
    (77, "[##----------------]   11%  55.7 MiB of 464.0 MiB  27.8 MiB/s  14.7 s left"),
    (37, "[#---------]   11%  14.7 s left"), (45, "[#------------]   11%  14.7 s left"),
    (20, "11%  14.7 s left"),
  ])
  func dropsTheTimeLast(width: Int, expected: String) {
    var state = halfway
    state.bytesDone = state.bytesTotal.map { $0 * 12 / 100 } ?? 0
    #expect(line(state, width: width).trimmingPrefix(while: { $0 == " " }) == expected)
  }

  @Test func theBarKeepsItsWidth() {
    var bar = ProgressBar()
    var state = halfway
    for done in [1, 1023, 1 << 20, 300 << 20, 463 << 20] as [Int64] {
      state.bytesDone = done
      let text = String(decoding: bar.render(state, width: 77), as: UTF8.self)
      #expect(text.firstIndex(of: "]").map { text.distance(from: text.startIndex, to: $0) } == 19, "\(text)")
    }
  }

  @Test(arguments: [-1, 0, 1, 4, 5, 10, 16, 17, 20, 40, 60, 79, 100, 500])
  func staysWithinTheWidth(width: Int) {
    let extreme = ProgressState(
      filesDone: .max, filesTotal: .max, bytesDone: .max, bytesTotal: .max, elapsed: 1e9)
    for state in [halfway, extreme, ProgressState(), ProgressState(isFinished: true)] {
      let text = line(state, width: width)
      #expect(text.utf8.count <= max(0, width))
      #expect(text.utf8.allSatisfy { (0x20...0x7e).contains($0) })
    }
  }

  @Test func neverGoesBackwards() {
    var bar = ProgressBar()
    var state = halfway
    let before = String(decoding: bar.render(state, width: 16), as: UTF8.self)
    #expect(before.hasSuffix(" 50%"))
    // The count of the tree has found as much again.
    state.bytesTotal = 928 << 20
    let after = String(decoding: bar.render(state, width: 16), as: UTF8.self)
    #expect(after == before)
    state.bytesDone = 696 << 20
    #expect(String(decoding: bar.render(state, width: 16), as: UTF8.self).hasSuffix(" 75%"))
  }

  @Test func isFullOnlyAtTheEnd() {
    var bar = ProgressBar()
    var state = ProgressState(filesDone: 4, filesTotal: 4, elapsed: 1)
    #expect(String(decoding: bar.render(state, width: 4), as: UTF8.self) == " 99%")
    state.isFinished = true
    #expect(String(decoding: bar.render(state, width: 4), as: UTF8.self) == "100%")
    #expect(line(state, width: 79).hasSuffix("0 B  4 of 4 files  1.00 s elapsed"))
  }

  @Test func survivesImpossibleNumbers() {
    let odd = ProgressState(
      filesDone: -1, filesTotal: 0, bytesDone: .min, bytesTotal: -5, elapsed: .nan)
    #expect(line(odd, width: 79).utf8.count <= 79)
    #expect(line(ProgressState(bytesDone: .max, elapsed: 1e-300), width: 79).contains("EiB"))
    #expect(line(ProgressState(filesDone: 1, filesTotal: .max, elapsed: 1e300), width: 99).contains("? left"))
  }
}
