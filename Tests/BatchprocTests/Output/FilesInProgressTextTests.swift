import BatchEngine
import Testing

@testable import batchproc

@Suite struct FilesInProgressTextTests {
  @Test func agesComeFirstAndNamesAreEscaped() {
    let files = [
      FileInProgress(path: PathBytes(Array("/mnt/a\u{1b}[2J".utf8) + [0xff]), age: 75_400),
      FileInProgress(path: "b\nc", age: 20),
    ]
    #expect(
      FilesInProgressText.lines(files) == [#"  for 1m15s: /mnt/a\x1b[2J\xff"#, #"  for 0.02 s: b\nc"#])
    #expect(FilesInProgressText.lines([]).isEmpty)
  }

  @Test func aStallIsOneLineWithTheOldestFiles() {
    #expect(
      FilesInProgressText.stall([], seconds: 600)
        == "nothing was read for 10m00s; no file is in progress")
    let files = (0..<7).map { FileInProgress(path: PathBytes("f\n\($0)"), age: 700_000 - $0) }
    #expect(
      FilesInProgressText.stall(Array(files.prefix(2)), seconds: 600)
        == #"nothing was read for 10m00s; in progress: f\n0 for 11m40s, f\n1 for 11m40s"#)
    #expect(FilesInProgressText.stall(files, seconds: 600).hasSuffix(#", f\n4 for 11m40s and 2 more"#))
  }

  @Test(arguments: [(20, 20, ""), (21, 21, "  and 1 more"), (2000, 21, "  and 1,980 more")])
  func theOldestTwentyAreShown(count: Int, lines: Int, last: String) {
    let files = (0..<count).map { FileInProgress(path: PathBytes("f\($0)"), age: count - $0) }
    let shown = FilesInProgressText.lines(files)
    #expect(shown.count == lines)
    #expect(shown.first?.hasSuffix(": f0") ?? false)
    if !last.isEmpty { #expect(shown.last == last) }
  }
}
