import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// The programs under `samples/`, each built as a separate package that uses only the public interface.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["BATCHPROC_CAMPAIGN"] != nil))
struct SampleProgramTests {
  private static let samples = Repository.root.appendingPathComponent("samples").path

  @Test("the samples can be built, and process a folder")
  func samples() throws {
    let t = try TreeFixture()
    try t.shell("mkdir d; printf 'a\\r\\nb\\r\\n' >d/x; printf 'c\\n' >d/y")
    // Each program also reads the outputs of the programs before it.
    let ends = [
      ("LineCount", "2 files, 0 failed\n"), ("LineEnds", "2 files written, 0 failed\n"),
      ("Rot13", "4 files written, 0 failed\n"),
    ]
    for (name, end) in ends {
      // Without HOME, swift guesses a home folder and makes its folders there.
      let run = try t.shell(
        "HOME=$PWD swift build -q --package-path \(Self.samples)/\(name) --scratch-path b && b/debug/\(name) d && rm -r b"
      )
      #expect(run.status == 0, "\(run.errorText)")
      #expect(run.text.hasSuffix(end))
    }
    #expect(t.text("d/x.rot13") == "n\r\no\r\n")
    #expect(try t.shell("od -c d/x.unix | head -n 1").text.contains("a  \\n   b  \\n"))
  }

  @Test("the server runs several jobs, reports their progress, cancels one, and ends with its input")
  func server() throws {
    let t = try TreeFixture()
    let build = try t.shell(
      "HOME=$PWD swift build -q --package-path \(Self.samples)/CompressServer --scratch-path b")
    #expect(build.status == 0, "\(build.errorText)")
    try t.shell("mkdir one two; for i in $(seq 200); do seq $i 3000 >one/$i; seq $i 4000 >two/$i; done")
    let run = try t.shell(
      "printf 'compress a one none\\ncompress b two\\nnonsense\\n' | b/debug/CompressServer")
    #expect(run.status == 0)
    let lines = run.text.split(separator: "\n").map(String.init)
    #expect(lines.first == "ready" && lines.last == "bye")
    #expect(lines.contains { $0.hasPrefix("done a 200 written, 1 failed, ") })
    #expect(lines.contains { $0.hasPrefix("done b 200 written, 0 failed, ") })
    #expect(lines.contains { $0.hasPrefix("failed a none: ") })
    #expect(lines.contains { $0.hasPrefix("progress a 201/201 ") })
    #expect(lines.contains("refused nonsense"))
    #expect(t.names(in: "one").count == 400)

    // These jobs would take minutes. With INT, standard input stays open.
    try t.shell("rm one/*.zst two/*.zst")
    for end in ["echo 'cancel a' >&3; exec 3>&-", "kill -INT $server"] {
      let stopped = try t.shell(
        """
        mkfifo in; b/debug/CompressServer 20000 <in >out & server=$!
        exec 3>in; echo 'compress a one' >&3; until grep -q progress out; do :; done
        \(end); wait $server; status=$?
        rm in; cat out; find one -name '.*' -type f; exit $status
        """)
      #expect(stopped.status == 0)
      #expect(stopped.text.contains("\ncancelled a ") && stopped.text.hasSuffix("bye\n"), "\(stopped.text)")
    }
  }
}

/// Type-checks the same programs against the modules of the tests, which is faster than building them.
@Suite struct SampleSourceTests {
  @Test(
    "the samples, which are the listings of the articles, compile",
    arguments: [
      "LineCount", "LineEnds", "Rot13", "CompressServer",
    ])
  func compile(name: String) throws {
    let t = try TreeFixture()
    let folder = DocumentationTests.folder
    let run = try t.typeCheck("'\(folder)/samples/\(name)/Sources/\(name)/main.swift'", isInside: false)
    #expect(run.status == 0, "\(run.errorText)")
  }
}
