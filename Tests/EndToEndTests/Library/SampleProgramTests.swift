import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// The programs under `samples/`, each built as a separate package that uses only the public interface.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["BATCHPROC_CAMPAIGN"] != nil))
struct SamplePackageTests {
  private static let root = Repository.root

  /// Builds a package and runs its program. Without HOME, swift guesses a home folder and makes its folders there.
  private func run(
    _ t: TreeFixture, _ package: String, _ program: String, _ arguments: String
  ) throws -> Outcome {
    try t.shell(
      "HOME=$PWD swift build -q --package-path '\(package)' --scratch-path b && b/debug/\(program) \(arguments)",
      seconds: 1200)
  }

  @Test("each sample is a package that can be built")
  func samples() throws {
    let t = try TreeFixture()
    try t.shell("mkdir d; echo a >d/x")
    for name in SampleProgramTests.names {
      let package = Self.root.appendingPathComponent("samples/\(name)").path
      let run = try run(t, package, name, name == "CompressServer" ? "</dev/null" : "d")
      #expect(run.status == 0, "\(run.errorText)")
    }
  }

  @Test("the package and the program of the page about the library, in an empty folder beside the checkout")
  func page() throws {
    let text = try String(contentsOf: Self.root.appendingPathComponent("docs/library.md"), encoding: .utf8)
    let blocks = text.split(separator: "```swift\n").dropFirst().compactMap {
      $0.split(separator: "```").first.map(String.init)
    }
    let program = try #require(blocks.first { $0.hasPrefix("import BatchCore\n") })
    let manifest = try #require(blocks.first { $0.hasPrefix("// swift-tools-version") })
    let t = try TreeFixture()
    try t.shell(
      "mkdir -p yours/Sources/yours photos; seq 9000 >photos/a; ln -s '\(Self.root.path)' batchproc")
    try t.file("yours/Package.swift", manifest)
    try t.file("yours/Sources/yours/main.swift", program)
    let run = try run(t, "yours", "yours", "")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.text.hasPrefix("1 43893 ") && t.names(in: "photos") == ["a", "a.zst"], "\(run.text)")
  }
}

/// The same programs, built from the libraries of this test run.
@Suite struct SampleProgramTests {
  static let names = ["LineCount", "LineEnds", "Rot13", "Digests", "CompressServer"]

  @Test("the samples process a folder; their status says whether all files could be processed")
  func folder() throws {
    let t = try TreeFixture()
    try t.shell("mkdir d; printf 'a\\r\\nb\\r\\n' >d/x; printf 'c\\n' >d/y")
    // Each program also reads the outputs of the programs before it.
    let ends = [
      ("LineCount", "2 files, 0 failed\n"), ("LineEnds", "2 files written, 0 failed\n"),
      ("Rot13", "4 files written, 0 failed\n"), ("Digests", "  d/y.unix.rot13\n"),
    ]
    for (name, end) in ends {
      try t.buildSample(name)
      let run = try t.shell("./\(name) d")
      #expect(run.status == 0 && run.text.hasSuffix(end), "\(run.text)\(run.errorText)")
      let failed = try t.shell("./\(name) none")
      #expect(failed.status == 3, "\(name): \(failed.text)")
    }
    #expect(t.text("d/x.rot13") == "n\r\no\r\n")
    #expect(try t.shell("od -c d/x.unix | head -n 1").text.contains("a  \\n   b  \\n"))
    let sums = try t.shell("./Digests d >sums && sha256sum --quiet -c sums && wc -l <sums")
    #expect(sums.status == 0 && sums.text == "8\n", "\(sums.text)\(sums.errorText)")
  }

  @Test(
    "a sample that INT has stopped ends with 130, and leaves no incomplete file",
    arguments: ["LineCount", "LineEnds", "Rot13", "Digests"])
  func interrupted(name: String) throws {
    let t = try TreeFixture()
    try t.buildSample(name)
    // Reading these files takes much longer than it takes to find one of them open.
    let run = try t.shell(
      """
      mkdir d; truncate -s 4M $(seq -f d/%g 512)
      ./\(name) d >out & program=$!
      until ls -l /proc/$program/fd | grep -q /d/ || ! kill -0 $program; do :; done
      kill -INT $program; wait $program; status=$?
      find d -name '.*' -type f; exit $status
      """)
    #expect(run.status == 130 && run.text.isEmpty, "\(run.text)\(run.errorText)")
  }

  @Test("the server runs several jobs, reports their progress, cancels one, and ends with its input")
  func server() throws {
    let t = try TreeFixture()
    try t.buildSample("CompressServer")
    try t.shell("mkdir one two; for i in $(seq 100); do seq $i 3000 >one/$i; seq $i 4000 >two/$i; done")
    let run = try t.shell(
      "printf 'compress a one none\\ncompress b two\\nnonsense\\n' | ./CompressServer")
    #expect(run.status == 0)
    let lines = run.text.split(separator: "\n").map(String.init)
    #expect(lines.first == "ready" && lines.last == "bye")
    #expect(lines.contains { $0.hasPrefix("done a 100 written, 1 failed, ") })
    #expect(lines.contains { $0.hasPrefix("done b 100 written, 0 failed, ") })
    #expect(lines.contains { $0.hasPrefix("failed a none: ") })
    #expect(lines.contains { $0.hasPrefix("progress a 101/101 ") })
    #expect(lines.contains("refused nonsense"))
    #expect(t.names(in: "one").count == 200)

    // These jobs would take days. With INT, standard input stays open.
    try t.shell("rm one/*.zst two/*.zst")
    for (end, status) in [("echo 'cancel a' >&3; exec 3>&-", 0), ("kill -INT $server", 130)] {
      let stopped = try t.shell(
        """
        mkfifo in; ./CompressServer 1 <in >out & server=$!
        exec 3>in; echo 'compress a one' >&3; until grep -q progress out; do sleep 0.02; done
        \(end); wait $server; status=$?
        rm in; cat out; find one -name '.*' -type f; exit $status
        """)
      #expect(stopped.status == status)
      #expect(stopped.text.contains("\ncancelled a ") && stopped.text.hasSuffix("bye\n"), "\(stopped.text)")
    }
  }

  @Test("the server pauses a job, lifts its limit, and lets it go on")
  func control() throws {
    let t = try TreeFixture()
    try t.buildSample("CompressServer")
    try t.shell("mkdir one; for i in $(seq 50); do seq $i 3000 >one/$i; done")
    // With the limit of the operand the job would take days.
    let run = try t.shell(
      """
      mkfifo in; ./CompressServer 1 <in >out & server=$!
      exec 3>in; echo 'compress a one' >&3; until grep -q progress out; do sleep 0.02; done
      printf 'pause a\\nlimit a x\\nlimit a 0\\nresume a\\n' >&3; exec 3>&-
      wait $server; status=$?; cat out; exit $status
      """)
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(
      run.text.contains("\nrefused limit a x\n") && run.text.contains("\ndone a 50 written, 0 failed, "))
  }

  @Test("a server whose job cannot run ends with 1")
  func failure() throws {
    let t = try TreeFixture()
    try t.buildSample("CompressServer")
    let run = try t.shell("mkdir d; ulimit -n 20; echo 'compress a d' | ./CompressServer")
    #expect(run.status == 1 && run.text.contains("\nerror a "), "\(run.text)")
  }
}
