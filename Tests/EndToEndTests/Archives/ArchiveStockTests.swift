import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Archives that were made by stock tools are listed, extracted and verified.
@Suite("Archives of stock tools", .timeLimit(.minutes(5))) struct ArchiveStockTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private static let everything = "mode time owner xattr hole link"

  /// A command that makes an archive `x` of `src`, and which parts of the tree the format stores.
  struct Maker: CustomTestStringConvertible, Sendable {
    let command: String
    let holds: String

    var testDescription: String { command }
  }

  static let makers = [
    Maker(command: "tar --format=pax --xattrs --acls -Scf x src", holds: everything),
    Maker(
      command: "tar --format=pax --xattrs --acls -cf - src | gzip >x", holds: "mode time owner xattr link"),
    Maker(command: "tar --format=pax --xattrs --acls -Scf - src | zstd -q >x", holds: everything),
    Maker(command: "tar --format=pax --xattrs --acls -Scf - src | xz -0 >x", holds: everything),
    Maker(command: "tar --format=pax --xattrs --acls -Scf - src | lz4 -q >x", holds: everything),
    Maker(command: "tar --format=pax --xattrs --acls -Scf - src | bzip2 >x", holds: everything),
    Maker(command: "tar --format=gnu -Scf x src", holds: "mode second owner hole link"),
    Maker(command: "bsdtar --format pax -cf x src", holds: everything),
    // This format has no times before 1970, and stores another mode of a file with an access control list.
    Maker(
      command: "touch -d @1 src/a/f10; setfacl -b src/a/f5; find src -print0 | bsdcpio -0 -o -H newc >x",
      holds: "mode second owner link"),
  ]

  @Test("are extracted as they were packed", arguments: makers)
  func extracted(_ maker: Maker) throws {
    try t.writeArchiveTree()
    let made = try t.shell("\(maker.command) && mkdir out")
    try #require(made.status == 0, "\(made.errorText)")
    for jobs in ["1", "3"] {
      let run = try t.batchproc("extract", "-j", PathBytes(jobs), "-C", "out", "x")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try t.differences("src", "out/src", maker.holds) == "")
      #expect(try t.allTemporaries() == "")
      try t.shell("chmod -R u+w out/src; rm -r out/src")
    }
    let verified = try t.batchproc("verify", "x")
    #expect(verified.status == 0, "\(verified.errorText)")
    #expect(verified.errorText.contains("no index"))
    let listed = try t.batchproc("list", "-z", "x").output.split(separator: 0).map { PathBytes($0) }
    let found = try t.shell("find src -type d -printf '%p/\\0' -o -printf '%p\\0'").output.split(separator: 0)
      .map { PathBytes($0) }
    #expect(listed.sorted() == found.sorted())
  }

  @Test("in zip and 7z give names, contents and links")
  func zip() throws {
    let made = try t.shell(
      """
      mkdir -p src/d out; echo text >src/d/f; seq 40000 >src/big; : >src/empty; ln -s d/f src/l; chmod 640 src/d/f
      zip -qry z.zip src && bsdtar --format 7zip -cf s.7z src && bsdtar --format zip -cf b.zip src
      """)
    try #require(made.status == 0, "\(made.errorText)")
    for archive in ["z.zip", "b.zip", "s.7z"] {
      let run = try t.batchproc("extract", "-C", "out", PathBytes(archive))
      #expect(run.status == 0, "\(archive): \(run.errorText)")
      #expect(try t.differences("src", "out/src", "mode link") == "", "\(archive)")
      try t.shell("rm -r out/src")
    }
  }

  @Test("are listed like tar tv lists them")
  func longRows() throws {
    try t.shell(
      """
      mkdir -p s/d; seq 1000 >s/f; ln -s f s/l; ln s/f s/h; mkfifo s/p; chmod 4755 s/f; chmod 1777 s/d
      chown 12345:54321 s/p; truncate -s 3000000 s/large; touch -d '2001-02-03 04:05:06' s/f; tar cf x.tar s
      """)
    for zone in ["UTC", "Asia/Tokyo"] {
      let ours = try t.batchproc(["list", "-l", "x.tar"], environment: ["TZ": zone])
      #expect(ours.text == (try t.shell("TZ=\(zone) tar tvf x.tar").text))
    }
  }

  @Test("are listed with the digests of their files, which sha256sum checks")
  func digests() throws {
    try t.writeArchiveTree()
    let run = try t.shell(
      "tar --format=pax -Scf x.tar src; $BP list --digests x.tar >m && sha256sum --check --quiet m && wc -l <m"
    )
    #expect(run.text == "69\n", "\(run.errorText)")
  }

  @Test("are read from a pipe")
  func pipe() throws {
    try t.writeArchiveTree()
    let run = try t.shell(
      "mkdir out; tar --format=pax --xattrs --acls -Sc src | zstd -q | $BP extract -q -C out -; echo $?")
    #expect(run.text == "0\n", "\(run.errorText)")
    #expect(try t.differences("src", "out/src") == "")
  }

  @Test("extract chosen members by name and by pattern, and strip names")
  func globs() throws {
    try t.shell(
      "mkdir -p s/a/b s/c out; for f in s/a/x.txt s/a/b/y.txt s/c/z.md; do echo $f >$f; done; tar --sort=name -cf x.tar s"
    )
    func names(_ arguments: PathBytes...) throws -> String {
      try t.shell("rm -rf out; mkdir out")
      let run = try t.batchproc(["extract", "-q", "-C", "out", "x.tar"] + arguments)
      return try "\(run.status) "
        + t.shell("cd out; find . -type f | LC_ALL=C sort | tr '\\n' ' '").text
    }
    #expect(try names("s/a") == "0 ./s/a/b/y.txt ./s/a/x.txt ")
    #expect(try names("s/a/") == "0 ./s/a/b/y.txt ./s/a/x.txt ")
    #expect(try names("*.md", "y*") == "0 ./s/a/b/y.txt ./s/c/z.md ")
    // A star of stock tar matches slashes.
    #expect(try names("s/*/*.txt") == "0 ./s/a/b/y.txt ./s/a/x.txt ")
    #expect(try names("*.md", "nosuch") == "3 ./s/c/z.md ")
    #expect(try names("--strip-components", "2") == "0 ./b/y.txt ./x.txt ./z.md ")
    #expect(
      try t.batchproc("extract", "--to-stdout", "x.tar", "y.txt", "x.txt").text == "s/a/b/y.txt\ns/a/x.txt\n")
  }

  @Test("keep existing files, or replace them with --overwrite")
  func overwriting() throws {
    try t.shell(
      "mkdir s; echo new >s/f; echo other >s/g; touch -d @1000 s/f; tar cf x.tar s; echo old >s/f; touch -d @2000 s/f"
    )
    let never = try t.batchproc("extract", "x.tar")
    #expect(never.status == 3 || never.status == 1)
    #expect(never.errorText.contains("s/f: exists already"))
    #expect(t.content("s/f") == Array("old\n".utf8))
    let newer = try t.batchproc("extract", "--overwrite", "newer", "x.tar")
    #expect(newer.status == 0, "\(newer.errorText)")
    #expect(t.content("s/f") == Array("old\n".utf8))
    #expect(try t.batchproc("extract", "--overwrite", "always", "x.tar").status == 0)
    #expect(t.content("s/f") == Array("new\n".utf8))
    #expect(t.temporaries(in: "s").isEmpty)
  }

  @Test("that were cut at any place are not complete", arguments: ["tar", "tar.gz", "tar.zst"])
  func cut(_ suffix: String) throws {
    try t.shell(
      "mkdir s; for i in 1 2 3; do seq 300 >s/f$i; done; tar cf x.tar -b 2 s; gzip -k x.tar; zstd -qk x.tar")
    let whole = try #require(t.content(PathBytes("x.\(suffix)")))
    let archive: [UInt8] = suffix == "tar" ? whole.dropLast(1024) : whole
    for count in stride(from: 0, through: archive.count - 1, by: max(1, archive.count / 12)) + [
      archive.count - 1
    ] {
      try t.file("cut", archive[..<count])
      let run = try t.batchproc("verify", "cut")
      #expect(run.status == 4, "\(count) of \(archive.count): \(run.errorText)")
      #expect(try t.batchproc("list", "cut").status != 0)
    }
    #expect(try t.batchproc("verify", PathBytes("x.\(suffix)")).status == 0)
  }

  @Test("of gzip are compared with their CRC, which libarchive does not check")
  func gzipChecksum() throws {
    try t.shell("mkdir s; head -c 100000 /dev/urandom >s/f; tar c s | gzip >x.tgz")
    var bytes = try #require(t.content("x.tgz"))
    bytes[bytes.count / 2] ^= 1
    try t.file("x.tgz", bytes)
    #expect(try t.batchproc("verify", "x.tgz").status == 4)
    try t.shell("mkdir out")
    #expect(try t.batchproc("extract", "-C", "out", "x.tgz").status != 0)
  }

  @Test("are listed as JSON lines that describe each member")
  func json() throws {
    try t.shell("mkdir s; echo hi >s/f; ln -s f s/l; printf x >s/$'\\xff'; tar --format=pax -cf x.tar s")
    let run = try t.shell(
      #"""
      $BP list --json --digests x.tar | python3 -c '
      import json, sys
      rows = [json.loads(line) for line in sys.stdin]
      members = {row.get("path", row.get("path_b64")): row for row in rows if row["type"] == "member"}
      print(members["s/f"]["size"], members["s/f"]["sha256"][:8], members["s/l"]["target"])
      print(members["s"]["kind"], "cy//" in members, rows[-1]["type"])'
      """#)
    #expect(run.text == "3 98ea6e4f f\ndirectory True summary\n", "\(run.errorText)")
  }
}
