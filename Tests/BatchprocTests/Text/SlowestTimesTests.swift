import BatchEngine
import Testing

@testable import batchproc

@Suite struct SlowestTimesTests {
  private func times(_ names: [(String, Int)]) -> FileTimes {
    let times = FileTimes()
    // In parts of three, as chunks report them.
    for start in stride(from: 0, to: names.count, by: 3) {
      times.took(
        names[start..<min(start + 3, names.count)].map { FileTime(PathBytes($0.0), .milliseconds($0.1)) })
    }
    return times
  }

  @Test func theTenThatTookLongestAreKept() {
    let found = times((0..<1000).map { ("d/f\($0)", ($0 * 7919) % 1000) })
    #expect(found.slowestFiles.map { Int($0.seconds * 1000 + 0.5) } == Array((990..<1000).reversed()))
    #expect(found.slowestFolders.count == 1)
    #expect(found.slowestFolders.first?.files == 1000)
    #expect(found.slowestFolders.first?.duration == .milliseconds(499_500))
  }

  @Test func partsOfAFileAddUp() {
    let found = times([("a/x", 5), ("a/big", 10), ("a/big", 10), ("a/big", 10), ("a/big", 10), ("b/y", 20)])
    #expect(found.slowestFiles.map(\.path) == ["a/big", "b/y", "a/x"])
    #expect(found.slowestFiles.first?.duration == .milliseconds(40))
    #expect(found.slowestFolders.map(\.path) == ["a", "b"])
    #expect(found.slowestFolders.map(\.files) == [2, 1])
  }

  @Test func ofEqualTimesTheFirstIsKept() {
    let found = times((0..<20).map { ("f\($0)", 5) })
    #expect(found.slowestFiles.map(\.path) == (0..<10).map { PathBytes("f\($0)") })
  }

  @Test func foldersAreForgottenOnlyWhenThereIsNoRoom() {
    // One file in each of many folders, some of which are slow.
    let found = times((0..<20_000).map { ("d\($0)/f", $0.isMultiple(of: 2001) ? 100 : 1) })
    #expect(found.slowestFolders.count == 10)
    #expect(found.slowestFolders.allSatisfy { $0.duration == .milliseconds(100) })
  }

  @Test func aQuickFileHasNoLine() {
    #expect(times([("a/x", 99), ("a/y", 0)]).lines == [])
    #expect(
      times([("a/x", 1500), ("a/\u{1b}y", 100), ("b/z", 99)]).lines == [
        "slowest files:", "   1.50 s  a/x", #"   0.10 s  a/\x1by"#,
        "slowest folders, by the files directly in them:", "   1.60 s  a",
      ])
    #expect(FileTimes().lines == [])
  }
}
