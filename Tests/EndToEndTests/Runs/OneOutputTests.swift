import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Sources in different folders and operands that have one output: the second one is refused, and no output
/// of the run is replaced.
@Suite(.timeLimit(.minutes(2))) struct OneOutputTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir -p x/w y/w; seq 4000 >x/w/a; seq 5000 >y/w/a; seq 9 >x/w/b; touch -d +1hour y/w/a")
  }

  @Test(
    "compress refuses the second source, with and without force, at every concurrency",
    arguments: ["w ../w", "../w w/a", "./w//a ../w", "w ./w ../w/a"],
    ["-j1", "-j2 --force", "-j7", "-j32 --force"])
  func compress(operands: String, options: String) throws {
    try t.shell("mkdir w; seq 7000 >w/a; touch -d +1hour w/a")
    let list = "find w x y o -type f | while read f; do { gzip -dcq $f || cat $f; } | cksum; done | sort"
    let before = try t.shell(list).text
    let run = try t.shell(
      "cd x; $BP compress --remove-source --compress-all --output-dir ../o \(options) \(operands)")
    #expect(run.status == 3)
    #expect(run.messages.count == 1)
    #expect(
      run.messages.allSatisfy { $0.hasSuffix("has the same output as another source: ../o/w/a.gz") },
      "\(run.messages)")
    // A refused source is kept and a removed one has its output, so no content is lost.
    #expect(try t.shell(list).text == before)
    #expect(t.exists("x/w/a") != t.exists("w/a"))
  }

  @Test("decompress with mirrored outputs refuses the second source", arguments: ["-j1", "-j7 --force"])
  func decompress(options: String) throws {
    try t.shell("gzip x/w/a; zstd -q --rm y/w/a; gzip -n x/w/b")
    let run = try t.shell(
      "mkdir z; cd z; $BP decompress --remove-source --output-dir ../o \(options) ../x/w ../y/w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("cmp o/x/w/a <(seq 4000) && cmp o/y/w/a <(seq 5000) && echo both").text == "both\n")
    try t.shell("rm -rf o; cd x; seq 4000 | gzip >w/a.gz; mkdir -p v/w; seq 5000 | zstd -q >v/w/a.zst")
    let second = try t.shell(
      "cd x/v; $BP decompress --remove-source --output-dir ../o \(options) ../w w")
    #expect(second.status == 3)
    #expect(
      second.messages == ["batchproc: w/a.zst: has the same output as another source: ../o/w/a"],
      "\(second.messages)")
    #expect(try t.shell("cd x; cmp o/w/a <(seq 4000) && ls w v/w").text.contains("a.zst"))
  }

  @Test("sources in one folder that is reached by two paths are refused")
  func twoWays() throws {
    try t.shell("cd x/w; gzip -k a; zstd -q a -o a.zst; rm a; ln -s w ../link")
    for operands in ["x/w/a.gz x/link/a.zst", "x/w/a.gz $PWD/x/w/a.zst", "x/w x/link/"] {
      let run = try t.shell("$BP decompress --force --remove-source \(operands)")
      #expect(run.status == 3, "\(operands): \(run.errorText)")
      #expect(run.messages.allSatisfy { $0.contains("the same output") }, "\(run.messages)")
      #expect(t.names(in: "x/w") == ["a.gz", "a.zst", "b"], "\(operands)")
    }
  }

  @Test("sources in two mirrored folders that a link makes one are refused")
  func linkedTarget() throws {
    try t.shell("mkdir -p o/x; ln -s x o/y")
    let run = try t.shell("$BP compress --remove-source --output-dir o x y")
    #expect(run.status == 3, "\(run.errorText)")
    #expect(
      try t.shell("gzip -dc o/x/w/a.gz | cmp - <(seq 4000) && cmp y/w/a <(seq 5000) && echo both").text
        == "both\n")
  }
}
