import BatchCore
import Testing

/// Names of compressed files, and what they come to.
@Suite(.timeLimit(.minutes(2))) struct SuffixTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir w; seq 3000 >text; tar -cf a.tar text")
  }

  @Test(
    "of compressed archives become names of archives",
    arguments: [
      ("tgz", "gzip"), ("taz", "gzip"), ("tzst", "zstd -q"), ("txz", "xz"), ("tlz4", "lz4 -q"),
      ("tar.gz", "gzip"), ("tar.zst", "zstd -q"),
    ])
  func archives(suffix: String, tool: String) throws {
    try t.shell("\(tool) -c <a.tar >w/x.\(suffix)")
    #expect(try t.batchproc("decompress", "--remove-source", "w").status == 0)
    #expect(t.names(in: "w") == ["x.tar"])
    #expect(try t.shell("cmp w/x.tar a.tar && echo same").text == "same\n")
  }

  @Test("the format is told by the content, whatever the suffix says", arguments: StockFormat.allCases)
  func otherFormat(format: StockFormat) throws {
    try t.shell("\(format.tool) -c <text >w/x.gz; \(format.tool) -c <text >w/y.txz")
    #expect(try t.batchproc("decompress", "-q", "w").status == 0)
    #expect(try t.shell("cmp w/x text && cmp w/y.tar text && echo same").text == "same\n")
  }

  @Test("files of compress(1) are refused by name, and passed over in a tree")
  func compress() throws {
    try t.write("w/old.Z", [0x1F, 0x9D, 0x90, 0x61, 0x00])
    try t.shell("gzip <text >w/new.gz")
    let run = try t.batchproc("decompress", "w/old.Z", "w/new.gz")
    #expect(run.status == 3)
    #expect(
      run.messages == ["batchproc: w/old.Z: is a file of compress(1), a format that is not supported"])
    #expect(t.names(in: "w") == ["new", "new.gz", "old.Z"])
    let tree = try t.batchproc("decompress", "w")
    #expect(tree.status == 0 && tree.messages.isEmpty, "\(tree.errorText)")
  }

  @Test("nothing but a suffix is no name", arguments: [".gz", ".tgz", ".z"])
  func bareSuffix(name: PathBytes) throws {
    try t.write(PathBytes("w/").appending(name.bytes), "x")
    let run = try t.batchproc("decompress", PathBytes("w").appending(name.bytes))
    #expect(run.status == 3)
    #expect(run.messages.allSatisfy { $0.contains("has no suffix that is known") }, "\(run.messages)")
  }

  @Test(
    "garbage behind gzip data is named and passed over, whatever the name",
    arguments: ["x.gz", "x.tgz", "x.taz", "x.z", "x.gzip", "x.xz"])
  func garbageBehindGzip(name: String) throws {
    try t.shell("{ gzip -c text; echo more; } >w/\(name)")
    let run = try t.batchproc("decompress", "--remove-source", "w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.messages.count == 1)
    #expect(run.messages.allSatisfy { $0.contains("garbage after the end") }, "\(run.messages)")
    // What is not understood is not thrown away.
    #expect(t.names(in: "w").count == 2 && t.exists(PathBytes("w/" + name)))
    #expect(try t.shell("cmp text w/x || cmp text w/x.tar; echo $?").text == "0\n")
    #expect(try t.batchproc("test", "w").status == 4)
  }

  @Test(
    "garbage behind other formats spoils the file, whatever the name",
    arguments: [
      ("zstd -q", "x.zst"), ("xz", "x.xz"), ("lz4 -q", "x.lz4"), ("xz", "x.gz"), ("zstd -q", "x.tgz"),
    ])
  func garbageBehindOthers(tool: String, name: String) throws {
    try t.shell("{ \(tool) -c <text; echo more; } >w/\(name)")
    let run = try t.batchproc("decompress", "--remove-source", "w")
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.messages.allSatisfy { $0.contains("garbage after the end") }, "\(run.messages)")
    #expect(t.names(in: "w") == [PathBytes(name)])
  }

  @Test("garbage behind gzip data in a stream is passed over too")
  func garbageInStream() throws {
    let run = try t.shell("{ gzip -c text; echo more; } | $BP decompress - | cmp - text && echo same")
    #expect(run.text == "same\n")
    #expect(run.errorText.contains("garbage after the end"), "\(run.errorText)")
    let other = try t.shell(
      "{ xz -c text; echo more; } | $BP decompress - >o; echo $?; cmp o text && echo same")
    #expect(other.text == "3\nsame\n", "\(other.errorText)")
  }

  @Test("two names with one output that a link makes two are both refused")
  func linkedRival() throws {
    try t.shell("gzip -c text >w/a.gz; zstd -q text -o z; ln -s ../z w/a.zst")
    let run = try t.batchproc("decompress", "-L", "--force", "w")
    #expect(run.status == 3)
    #expect(run.messages.filter { $0.contains("neither is written") }.count == 2, "\(run.messages)")
    #expect(!t.exists("w/a"))
    #expect(try t.batchproc("decompress", "w").status == 0)
  }
}
