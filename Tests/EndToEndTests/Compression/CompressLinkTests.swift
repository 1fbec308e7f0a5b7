import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Hard links and symbolic links among the sources.
@Suite(.timeLimit(.minutes(3))) struct CompressLinkTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      "mkdir -p w/d out; seq 9000 >w/a; ln w/a w/d/b; ln w/a w/d/c; seq 8000 >w/x; ln w/x out/y; seq 99 >w/one"
    )
  }

  /// One line for each file: its number of links, its name, and a number that is the same for the same inode.
  private func inodes(_ folder: String = "w") throws -> String {
    try t.shell(
      "find \(folder) -type f -printf '%i %n %p\\n' | sort -k3 | awk '{ if (!($1 in n)) n[$1] = ++c; print n[$1], $2, $3 }'"
    ).text
  }

  @Test("a file with several names is compressed once, and its outputs are links to one file")
  func once() throws {
    let run = try t.batchproc("compress", "-j", "7", "w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.hasPrefix("compressed 5 files"))
    #expect(run.errorText.contains("2 linked"), "\(run.errorText)")
    #expect(
      try inodes()
        == "1 3 w/a\n2 3 w/a.gz\n1 3 w/d/b\n2 3 w/d/b.gz\n1 3 w/d/c\n2 3 w/d/c.gz\n3 1 w/one\n4 1 w/one.gz\n5 2 w/x\n6 1 w/x.gz\n"
    )
    #expect(try t.damaged(in: "w", .gz) == "")
    let again = try t.batchproc("compress", "w")
    #expect(again.errorText.contains("compressed 0 files") && again.errorText.contains("5 up to date"))
    #expect(try inodes().contains("2 3 w/d/c.gz"))
  }

  @Test(
    "sources are removed only when all names of their file were in the tree",
    arguments: ["", "--output-dir o"])
  func removal(options: String) throws {
    let run = try t.shell("$BP compress --remove-source \(options) w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("find w -type f ! -name '*.gz'").text == "w/x\n")
    #expect(try t.shell("cmp w/x out/y && stat -c %h out/y").text == "2\n")
    let base = options.isEmpty ? "w" : "o/w"
    #expect(try t.shell("stat -c %h \(base)/a.gz \(base)/d/b.gz \(base)/x.gz").text == "3\n3\n1\n")
    #expect(try t.shell("gzip -dc \(base)/d/c.gz | cmp - <(seq 9000)").status == 0)
  }

  @Test("names of one file that are given as separate operands count as one tree")
  func operands() throws {
    let run = try t.batchproc("compress", "--remove-source", "w/d/c", "w/a", "w/d/b", "./w/a")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("ls w w/d").text == "w:\na.gz\nd\none\nx\n\nw/d:\nb.gz\nc.gz\n")
    #expect(try t.shell("stat -c %h w/a.gz").text == "3\n")
  }

  @Test("a large file with several names is linked like a small one")
  func large() throws {
    try t.shell("seq 900000 >w/big; ln w/big w/d/again")
    let run = try t.batchproc("compress", "--remove-source", "w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(!t.exists("w/big") && !t.exists("w/d/again"))
    #expect(try t.shell("stat -c %h w/big.gz; gzip -dc w/d/again.gz | cmp - <(seq 900000)").text == "2\n")
  }

  @Test(
    "further names of a file without an output get the outcome of the first one, not linked",
    .enabled(if: Host.hasPython),
    arguments: [("head -c 9999 /dev/urandom", "not_smaller"), ("seq 99 | xz", "compressed_already")])
  func passedOver(content: String, outcome: String) throws {
    let run = try t.shell("mkdir n; \(content) >n/a; ln n/a n/b; $BP compress --json n")
    #expect(run.status == 0)
    #expect(run.rows.count == 3)
    #expect(run.rows.dropLast().allSatisfy { String(decoding: $0, as: UTF8.self).contains("\"\(outcome)\"") })
    #expect(run.text.contains("\"skipped\":2") && run.text.contains("\"linked\":0"), "\(run.text)")
    #expect(t.names(in: "n") == ["a", "b"])
  }

  @Test(
    "further names of a large file without an output are not reported as linked", arguments: [0, 3_000_000])
  func passedOverLarge(start: Int) throws {
    let run = try t.shell(
      "mkdir n; { [ \(start) = 0 ] || echo | gzip; head -c 3000000 /dev/urandom; } >n/a; ln n/a n/b; $BP compress n"
    )
    #expect(run.status == 0)
    #expect(!run.errorText.contains("linked"), "\(run.errorText)")
    #expect(t.names(in: "n") == ["a", "b"])
  }

  @Test(
    "a source with several names that cannot be removed is named, and the status is 3",
    .enabled(if: Host.canTrace, "needs strace"))
  func removalFails() throws {
    let run = try t.shell(
      "strace -qq -f --seccomp-bpf -o /dev/null -e trace=unlinkat -e inject=unlinkat:error=EIO $BP compress --remove-source w/a w/d"
    )
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.messages.count == 3)
    #expect(run.messages.allSatisfy { $0.hasSuffix("cannot remove the source: Input/output error") })
    #expect(try t.shell("cmp w/a <(seq 9000); gzip -dc w/a.gz | cmp - w/a").text == "")
  }

  @Test(
    "further names of a file that failed are not reported as linked", arguments: ["compress", "decompress"])
  func firstFails(command: String) throws {
    let run = try t.shell(
      command == "compress"
        ? "mkdir n; seq 999 >n/a; ln n/a n/b; mkdir n/a.gz; $BP compress --json n"
        : "mkdir n; echo bad >n/a.gz; ln n/a.gz n/b.gz; $BP decompress --json n")
    #expect(run.status == 3)
    #expect(!run.text.contains("\"outcome\"") && run.text.contains("\"failed\":1"), "\(run.text)")
    #expect(run.text.contains("\"linked\":0"), "\(run.text)")
  }

  @Test("outputs that are no longer links are linked again when their file changes")
  func refreshed() throws {
    #expect(try t.batchproc("compress", "-q", "w").status == 0)
    try t.shell(
      "cp --remove-destination --preserve=all w/a.gz w/d/c.gz.new && mv w/d/c.gz.new w/d/c.gz; seq 9500 >w/a; touch -d '+1 hour' w/a"
    )
    let run = try t.batchproc("compress", "w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("stat -c %h w/a.gz; gzip -dc w/d/c.gz | cmp - <(seq 9500)").text == "3\n")
    #expect(try t.allTemporaries() == "")
  }

  @Test("symbolic links are skipped and counted, and with -L their targets are read")
  func symlinks() throws {
    try t.shell(
      "rm -r w out; mkdir w else; seq 5000 >else/f; ln -s ../else/f w/f; ln -s nowhere w/gone; ln -s . w/loop; ln -s ../else w/dir"
    )
    let run = try t.batchproc("compress", "w")
    #expect(run.status == 0)
    #expect(
      run.errorText.contains("compressed 0 files") && run.errorText.contains("4 skipped"), "\(run.errorText)")
    #expect(t.names(in: "w").count == 4 && t.names(in: "else") == ["f"])
    let followed = try t.shell(
      "timeout 30 $BP compress -L --remove-source --output-dir o w/f w/gone w/dir")
    #expect(followed.status == 3, "\(followed.errorText)")
    #expect(followed.messages.count == 2, "\(followed.messages)")
    #expect(followed.messages.contains { $0.contains("w/f: is a symbolic link") }, "\(followed.messages)")
    #expect(
      try t.shell("gzip -dc o/w/f.gz | cmp - <(seq 5000); gzip -dc o/w/dir/f.gz | cmp - <(seq 5000)").status
        == 0)
    #expect(t.names(in: "w") == ["dir", "f", "gone", "loop"])
  }

  @Test("an output of a link has the attributes of the link's target, for small, large and compressed files")
  func attributesThroughLinks() throws {
    let made = try t.shell(
      """
      rm -r w out; mkdir w else; seq 5000 >else/small; seq 900000 >else/large; seq 700 | gzip -n >else/p.gz
      for f in small large p.gz; do setfattr -n user.note -v "of $f" else/$f; ln -s ../else/$f w/$f; done
      """)
    try #require(made.status == 0, "\(made.errorText)")
    let run = try t.shell("$BP compress -L --output-dir o w && $BP decompress -L --output-dir o w/p.gz")
    #expect(run.status == 0, "\(run.errorText)")
    let found = try t.shell("cd o/w && getfattr --only-values -n user.note small.gz large.gz p")
    #expect(found.text == "of smallof largeof p.gz", "\(found.text)\(found.errorText)")
  }
}
