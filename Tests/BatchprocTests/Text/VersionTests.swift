import Testing

@testable import batchproc

/// The first line of `--version`.
@Suite struct VersionTests {
  private static let start = "batchproc \(Version.number)"

  @Test("names the commit, whether files were changed after it, and the kind of the build")
  func commit() {
    #expect(Version.line(commit: 0xABC_1234 << 2 | 1) == "\(Self.start) (commit abc1234, debug)")
    #expect(Version.line(commit: 0x00C_1234 << 2 | 3) == "\(Self.start) (commit 00c1234 with changes, debug)")
    #expect(Version.line(commit: 0) == "\(Self.start) (debug)")
  }

  @Test("a number has three parts")
  func number() {
    #expect(Version.number.wholeMatch(of: /\d+\.\d+\.\d+(-dev)?/) != nil)
  }
}
