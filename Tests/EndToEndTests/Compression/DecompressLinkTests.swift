import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Compressed files with several names are decoded once, and their outputs are linked in the same way.
@Suite(.timeLimit(.minutes(2))) struct DecompressLinkTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir -p w/d; seq 5000 | gzip >w/a.gz; ln w/a.gz w/d/b.gz; seq 9 | gzip >w/one.gz")
  }

  private func decompress(_ arguments: PathBytes...) throws -> Outcome {
    try t.batchproc(["decompress"] + arguments)
  }

  private static let areLinked = "cmp w/a <(seq 5000) && [ w/a -ef w/d/b ] && stat -c %h w/a"

  @Test("are decoded once, at every concurrency", arguments: ["1", "2", "7", "32"])
  func decodedOnce(concurrency: PathBytes) throws {
    let run = try decompress("-j", concurrency, "-v", "w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("w/d/b.gz: linked to w/d/b\n"), "\(run.errorText)")
    #expect(run.errorText.contains("decompressed 3 files"), "\(run.errorText)")
    #expect(try t.shell(Self.areLinked).text == "2\n")
    let again = try decompress("w")
    #expect(again.status == 0)
    #expect(again.errorText.contains("3 up to date"), "\(again.errorText)")
  }

  @Test("sources are removed when all of their names were in the tree")
  func removesAllNames() throws {
    #expect(try decompress("--remove-source", "w").status == 0)
    #expect(t.names(in: "w") == ["a", "d", "one"])
    #expect(try t.shell(Self.areLinked).text == "2\n")
  }

  @Test("sources are kept with a message when a name is elsewhere", arguments: ["compress", "decompress"])
  func nameElsewhere(command: PathBytes) throws {
    try t.shell("seq 700 >w/d/text; ln w/a.gz outside.gz; ln w/d/text outside")
    let run = try t.batchproc(command, "--remove-source", "w")
    #expect(run.status == 0, "\(run.errorText)")
    let source = command == "compress" ? "w/d/text" : "w/a.gz"
    #expect(
      run.messages.map { $0.replacing("warning: ", with: "") } == [
        "batchproc: \(source): kept: it has other hard links that were not compressed"
      ], "\(run.messages)")
    #expect(t.exists(PathBytes(source)))
    #expect(t.exists("w/one.gz") == (command == "compress"))
  }

  @Test("a further name whose output another source also has gets no output")
  func rival() throws {
    try t.shell("seq 3 | zstd -q >w/d/b.zst")
    let run = try decompress("--remove-source", "w")
    #expect(run.status == 3)
    #expect(run.messages.filter { $0.contains("neither is written") }.count == 2, "\(run.messages)")
    #expect(t.names(in: "w/d") == ["b.gz", "b.zst"])
    #expect(t.exists("w/a") && t.exists("w/a.gz"))
  }

  @Test("a damaged first name leaves no output for any name")
  func damaged() throws {
    try t.shell("truncate -s -9 w/a.gz")
    let run = try decompress("--remove-source", "w")
    #expect(run.status == 3)
    #expect(run.messages == ["batchproc: w/a.gz: truncated: the file ends too early"])
    #expect(t.names(in: "w") == ["a.gz", "d", "one"])
    #expect(t.names(in: "w/d") == ["b.gz"])
  }

  @Test(
    "the folders of links are synced before sources are removed and the run ends",
    .enabled(if: Host.canTrace, "needs strace"), arguments: [("compress", 1), ("decompress", 0)])
  func syncsFolders(command: String, plain: Int) throws {
    try t.shell(plain == 1 ? "gunzip -f w/one.gz; gunzip <w/a.gz >w/a; rm w/*.gz w/d/*; ln w/a w/d/b" : "")
    let trace =
      "strace -qq -f --seccomp-bpf -y -o trace -e trace=mkdirat,linkat,fsync,unlinkat $BP \(command) -j1 --output-dir o"
    let run = try t.shell("\(trace) --remove-source w; cat trace")
    let calls = run.text.split(separator: "\n").map { String($0) }
    let folder = try #require(calls.firstIndex { $0.contains("mkdirat") && $0.contains("/o/w>, \"d\"") })
    let link = try #require(calls.firstIndex { $0.contains("linkat") && $0.contains("/o/w/d>, \"b") })
    let removal = try #require(calls.lastIndex { $0.contains("unlinkat") && $0.contains("/w/d>, \"b") })
    let nameOfFolder = try #require(
      calls.firstIndex { $0.contains("fsync") && $0.contains("/o/w>") }, "\(run.text)")
    let nameOfLink = try #require(
      calls.firstIndex { $0.contains("fsync") && $0.contains("/o/w/d>") }, "\(run.text)")
    #expect(folder < calls.lastIndex { $0.contains("fsync") && $0.contains("/o/w>") } ?? nameOfFolder)
    #expect(link < nameOfLink && nameOfLink < removal)
    let quick = try t.shell("rm -rf o; \(trace) --no-fsync w; grep -c fsync trace")
    #expect(quick.text == "0\n")
  }
}
