import BatchCore
import BatchEngine
import TestSupport
import Testing

/// `test -`: compressed data that comes through a pipe.
@Suite(.timeLimit(.minutes(2))) struct TestStreamTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("seq 30000 >text")
  }

  @Test("an undamaged stream is accepted", arguments: StockFormat.allCases)
  func whole(format: StockFormat) throws {
    let run = try t.shell("\(format.tool) -c text | $BP test -v -j 2 -")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.output.isEmpty && run.errorText.hasPrefix("-: OK\ntested 1 file"), "\(run.errorText)")
  }

  @Test("a damaged stream is reported", arguments: StockFormat.allCases)
  func damaged(format: StockFormat) throws {
    let run = try t.shell("\(format.tool) -c text | head -c -5 | $BP test -")
    #expect(run.status == 4)
    #expect(run.messages == ["batchproc: -: truncated: the file ends too early"])
  }

  @Test(
    "an empty stream, or one that is not compressed, is reported",
    arguments: [
      ("", "truncated: the file ends too early"),
      ("\\37", "not in the compressed format that it should have"),
      ("plain", "not in the compressed format that it should have"),
    ])
  func other(content: String, reason: String) throws {
    let run = try t.shell("printf '\(content)' | $BP test -")
    #expect(run.status == 4)
    #expect(run.messages == ["batchproc: -: \(reason)"])
  }

  @Test("a stream may arrive byte by byte, and together with files")
  func slowly() throws {
    let run = try t.shell(
      "xz -c text >t.xz; gzip -c text >t.gz; { for i in $(seq 20); do dd bs=1 count=1 status=none; done; cat; } <t.xz | $BP test -v -j 2 t.gz - t.xz"
    )
    #expect(run.status == 0)
    #expect(run.errorText.hasPrefix("t.gz: OK\n-: OK\nt.xz: OK\n"), "\(run.errorText)")
  }

  @Test("the result of a stream is an event")
  func event() throws {
    let run = try t.shell("gzip -c text | head -c 50 | $BP test --json -")
    #expect(run.status == 4)
    #expect(run.text.contains(#""path":"-","outcome":"truncated""#), "\(run.text)")
  }
}
