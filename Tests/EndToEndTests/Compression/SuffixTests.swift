import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Names of compressed files, and the names of their outputs.
@Suite(.timeLimit(.minutes(2))) struct SuffixTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir w; seq 3000 >text; tar -cf a.tar text")
  }

  @Test(
    "compressed archives are decompressed to names of archives",
    arguments: [
      ("tgz", "gzip"), ("taz", "gzip"), ("tzst", "zstd -q"), ("txz", "xz"), ("tlz4", "lz4 -q"),
      ("tar.gz", "gzip"), ("tar.zst", "zstd -q"), ("taz", "compress"), ("taZ", "compress"),
      ("tar.Z", "compress"),
      ("tbz2", "bzip2"), ("tbz", "bzip2"), ("tlz", "lzip"), ("tlz", "xz --format=lzma"),
      ("tar.lzma", "xz --format=lzma"),
    ])
  func archives(suffix: String, tool: String) throws {
    try t.shell("\(tool) -c <a.tar >w/x.\(suffix)")
    #expect(try t.batchproc("decompress", "--remove-source", "w").status == 0)
    #expect(t.names(in: "w") == ["x.tar"])
    #expect(try t.shell("cmp w/x.tar a.tar && echo same").text == "same\n")
  }

  @Test("the content decides about the format, with any suffix", arguments: StockFormat.allCases)
  func otherFormat(format: StockFormat) throws {
    try t.shell("\(format.tool) -c <text >w/x.gz; \(format.tool) -c <text >w/y.txz")
    #expect(try t.batchproc("decompress", "-q", "w").status == 0)
    #expect(try t.shell("cmp w/x text && cmp w/y.tar text && echo same").text == "same\n")
  }

  @Test(
    "unsupported formats are named when given as operands, and skipped in a tree",
    arguments: [
      ("x.lzo", "\\x89LZO\\x00\\r\\n\\x1a\\n", "lzop data"),
      ("x.lz4", "\\x02\\x21\\x4c\\x18", "legacy lz4 data"),
      ("x.rar", "Rar!\\x1a\\x07\\x01\\x00", "RAR 5 archive"), ("x.gz", "\\x1f\\xa0abc", "compress -H data"),
    ])
  func unsupported(name: String, start: String, called: String) throws {
    try t.shell("printf '\(start)' >w/\(name); cp text u; gzip u")
    for command in ["decompress", "test"] {
      let run = try t.shell("$BP \(command) w/\(name) u.gz; echo $?; $BP \(command) - <w/\(name); echo $?")
      #expect(run.text == "3\n3\n")
      #expect(
        run.messages == ["w/\(name)", "-"].map { "batchproc: \($0): unsupported: \(called)" },
        "\(run.errorText)")
    }
    #expect(t.exists("u"))
    if !["x.gz", "x.lz4"].contains(name) {
      let tree = try t.shell("$BP decompress w && $BP test w")
      #expect(tree.status == 0 && tree.messages.isEmpty, "\(tree.errorText)")
    }
    try t.shell("printf 'abcdefgh' >w/text.br")
    let named = try t.batchproc("decompress", "w/text.br")
    #expect(named.status == 3 && named.messages == ["batchproc: w/text.br: unsupported: Brotli data"])
  }

  @Test("a name that is only a suffix is refused", arguments: [".gz", ".tgz", ".z"])
  func bareSuffix(name: PathBytes) throws {
    try t.file(PathBytes("w/").appending(name.bytes), "x")
    let run = try t.batchproc("decompress", PathBytes("w").appending(name.bytes))
    #expect(run.status == 3)
    #expect(run.messages.allSatisfy { $0.contains("unknown suffix; expected .gz") }, "\(run.messages)")
  }

  @Test(
    "garbage after gzip data is a failure, and the content is kept, with any suffix",
    arguments: ["x.gz", "x.tgz", "x.taz", "x.z", "x.gzip", "x.xz", "x.lzma"])
  func garbageBehindGzip(name: String) throws {
    try t.shell("{ gzip -c text; echo more; } >w/\(name)")
    let run = try t.batchproc("decompress", "--remove-source", "w")
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.messages.count == 1)
    #expect(run.messages.allSatisfy { $0.contains("garbage after the end") }, "\(run.messages)")
    // The source is kept, since a part of it was not decoded.
    #expect(t.names(in: "w").count == 2 && t.exists(PathBytes("w/" + name)))
    #expect(try t.shell("cmp text w/x || cmp text w/x.tar; echo $?").text == "0\n")
    #expect(try t.batchproc("test", "w").status == 4)
  }

  @Test(
    "garbage after other formats is damage, with any suffix",
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

  @Test("garbage after gzip data in a stream is ignored too")
  func garbageInStream() throws {
    let run = try t.shell("{ gzip -c text; echo more; } | $BP decompress - | cmp - text && echo same")
    #expect(run.text == "same\n")
    #expect(run.errorText.contains("garbage after the end"), "\(run.errorText)")
    let other = try t.shell(
      "{ xz -c text; echo more; } | $BP decompress - >o; echo $?; cmp o text && echo same")
    #expect(other.text == "3\nsame\n", "\(other.errorText)")
  }

  @Test("two sources whose outputs become one through a link are both refused")
  func linkedRival() throws {
    try t.shell("gzip -c text >w/a.gz; zstd -q text -o z; ln -s ../z w/a.zst")
    let run = try t.batchproc("decompress", "-L", "--force", "w")
    #expect(run.status == 3)
    #expect(run.messages.filter { $0.contains("neither is written") }.count == 2, "\(run.messages)")
    #expect(!t.exists("w/a"))
    #expect(try t.batchproc("decompress", "w").status == 0)
  }

  @Test(
    "suffixes in capitals are removed as gunzip does, and two files with one output are named",
    arguments: [
      ("gzip", "X.GZ", "X"), ("gzip", "X.TGZ", "X.tar"), ("zstd -q", "X.ZST", "X"), ("xz", "X.XZ", "X"),
      ("bzip2", "X.TBZ2", "X.tar"), ("lz4 -q", "X.LZ4", "X"),
    ])
  func capitals(tool: String, name: String, output: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      \(tool) -c <text >w/\(name)
      ends decompress $BP decompress -q w
      cmp text w/\(output) && ls w | says files
      cp w/\(name) w/\(name.lowercased().replacing("x.", with: "X."))
      rm w/\(output)
      ends both $BP decompress -q w
      ls w | grep -c -x \(output) | says outputs
      """)
    run.expectSteps([
      "decompress": "0", "files": [output, name].sorted().joined(separator: " "), "both": "3", "outputs": "0",
    ])
  }
}
