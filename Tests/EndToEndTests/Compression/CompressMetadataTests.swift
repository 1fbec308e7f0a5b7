import BatchCore
import BatchEngine
import TestSupport
import Testing

/// A tree of any names and contents is compressed and decompressed in each format without a loss.
@Suite(.enabled(if: Host.hasPython, "needs python3"), .timeLimit(.minutes(5)))
struct CompressMetadataTests {
  private let t: TreeFixture
  private static let count = Campaign.isFull ? 1000 : 400

  init() throws {
    t = try TreeFixture()
    try t.writeOddTree(files: Self.count)
  }

  @Test(
    "the stock tool decodes each output to its source, with the same mode, time, attributes and owner",
    arguments: StockFormat.allCases)
  func roundTrip(format: StockFormat) throws {
    try t.shell("cp -a src w")
    let made = try t.batchproc("compress", "--compress-all", "--format", PathBytes(format.rawValue), "w")
    #expect(made.status == 0, "\(made.errorText)")
    let told = made.errorText.replacing(",", with: "")
    #expect(told.hasPrefix("compressed \(Self.count) files"), "\(made.errorText)")
    try t.shell("find w -type f ! -name '*.\(format)' -delete; cp -a w z")
    #expect(
      try t.compare("src", "w", suffix: ".\(format)", contents: false) == "\(Self.count) files\n")
    let judged = try t.shell(
      """
      cd w && find . -type f -print0 | xargs -0 \(format == .lz4 ? "lz4 -qm" : format.tool) -t &&
      cd ../z && find . -type f -print0 | xargs -0 \(format.decodeInPlace)
      """)
    #expect(judged.status == 0, "\(judged.errorText.prefix(500))")
    #expect(try t.shell("diff -r src z").text == "")

    let back = try t.batchproc("decompress", "--output-dir", "back", "w")
    #expect(back.status == 0, "\(back.errorText.prefix(500))")
    #expect(try t.compare("src", "back/w") == "\(Self.count) files\n")
  }

  @Test("without --compress-all each file is there, either unchanged or compressed")
  func smallerOnly() throws {
    try t.shell("cp -a src w")
    let made = try t.batchproc("compress", "--remove-source", "w")
    #expect(made.status == 0, "\(made.errorText.prefix(500))")
    #expect(try t.shell("find w -type f -printf x | wc -c").text == "\(Self.count)\n")
    let back = try t.batchproc("decompress", "--remove-source", "w")
    #expect(back.status == 0, "\(back.errorText.prefix(500))")
    #expect(try t.compare("src", "w") == "\(Self.count) files\n")
  }
}

/// The rights of outputs, which may be fewer than those of their sources.
struct CompressOwnerTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("outputs get no setuid and setgid bits")
  func setuid() throws {
    try t.shell("mkdir w; seq 5000 >w/a; chmod 6755 w/a")
    #expect(try t.batchproc("compress", "w").status == 0)
    #expect(try t.shell("stat -c %a w/a.gz").text == "755\n")
  }

  @Test(
    "an output keeps the group of its source, or gives no group rights", .enabled(if: Host.canChangeUser),
    arguments: [("1000", "1000 640"), ("2000", "65534 600"), ("2000 -r", "65534 644")])
  func foreignGroup(groups: String, expected: String) throws {
    let isOpen = groups.hasSuffix("-r")
    let run = try t.shell(
      """
      mkdir w; chmod 777 w; seq 5000 >w/a; chown 65534:1000 w/a; chmod \(isOpen ? 644 : 640) w/a
      setpriv --reuid=65534 --regid=65534 --groups \(groups.prefix(4)) $BP compress -q w; stat -c '%g %a' w/a.gz
      """)
    #expect(run.text == expected + "\n", "\(run.errorText)")
  }

  @Test(
    "members of a group that an output could not keep get no right that their group did not have",
    .enabled(if: Host.canChangeUser), arguments: [("r--", "644"), ("---", "600")])
  func foreignGroupWithList(rights: String, expected: String) throws {
    let run = try t.shell(
      """
      mkdir w; chmod 777 w; seq 5000 >w/a; chown 65534:1000 w/a; setfacl -m u::rw,u:12345:r,g::\(rights),o::r w/a
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP compress -q w; stat -c '%g %a' w/a.gz
      """)
    #expect(run.text == "65534 \(expected)\n", "\(run.errorText)")
  }

  @Test(
    "an ordinary user gets attributes and lists of read-only files back",
    .enabled(if: Host.canChangeUser && Host.hasPython), arguments: ["", "--no-fsync"])
  func readOnlyAttributes(option: String) throws {
    try t.file(
      "run.sh",
      """
      umask 022; mkdir w; seq 5000 >w/a; seq 5000 >w/b; seq 900000 >w/large; setfattr -n user.note -v 1 w/*
      setfacl -m u::r,u:12345:r w/b; chmod 444 w/a w/large
      $BP compress -q \(option) --output-dir o w && $BP decompress -q \(option) --output-dir back o
      """)
    let run = try t.shell("chmod 777 .; setpriv --reuid=65534 --regid=65534 --clear-groups bash run.sh")
    #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
    for name in ["o/w", "back/o/w"] {
      let suffix = name == "o/w" ? ".gz" : ""
      let found = try t.shell(
        "cd \(name); getfattr --only-values -n user.note a\(suffix) b\(suffix) large\(suffix); stat -c ' %a' *; getfacl -cn b\(suffix) | grep 12345"
      )
      #expect(found.text == "111 444\n 444\n 444\nuser:12345:r--\n", "\(found.text) \(found.errorText)")
    }
  }
}
