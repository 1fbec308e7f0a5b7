import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// Archives of stock tools on standard input, within this process.
@Suite(.serialized) struct StreamCommandTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file("t/a", "first\n")
    try t.file("t/d/b", String(repeating: "second ", count: 3000))
    try t.symbolicLink("t/link", to: "a")
  }

  private func run(_ arguments: PathBytes..., input: [UInt8]) throws -> CommandRun {
    try CommandRun(arguments, in: t, input: input)
  }

  /// - Parameter script: Python code, with `z` for a zip that is written as a stream.
  private func zip(_ script: String) throws -> [UInt8] {
    try t.file(
      "make.py",
      """
      import sys, zipfile
      class Pipe:
        def write(self, bytes): sys.stdout.buffer.write(bytes); return len(bytes)
        def flush(self): sys.stdout.buffer.flush()
      with zipfile.ZipFile(Pipe(), "w", zipfile.ZIP_DEFLATED) as z:
        \(script.replacing("\n", with: "\n  "))
      """)
    let made = try Outcome(shell: "python3 make.py", in: t)
    try #require(made.status == 0, "\(made.errorText)")
    return made.output
  }

  private static let members = """
    for name in ("t/a", "t/d/b"): z.write(name)
    z.writestr("t/new", "new"); z.writestr("t/last", "last")
    """

  @Test("a zip with data descriptors is listed, verified and extracted")
  func zips() throws {
    let zip = try zip(Self.members)
    let list = try run("list", "-q", "-", input: zip)
    #expect(list.status == 0 && list.text == "t/a\nt/d/b\nt/new\nt/last\n", "\(list.text)\(list.errorText)")
    let long = try run("list", "-q", "-l", "-", input: zip)
    let sizes = long.text.split(separator: "\n").map { $0.split(separator: " ")[2] }
    #expect(long.status == 0 && sizes == ["6", "21000", "3", "4"], "\(long.text)")
    let digests = try run("list", "-q", "--digests", "-", input: zip)
    let expected = try Outcome(shell: "sha256sum t/a t/d/b", in: t).text
    #expect(digests.status == 0 && digests.text.hasPrefix(expected), "\(digests.text)\(digests.errorText)")
    let verify = try run("verify", "-", input: zip)
    #expect(verify.status == 0, "\(verify.errorText)")
    let extract = try run("extract", "-q", "--no-fsync", "-C", "out", "-", input: zip)
    #expect(extract.status == 0, "\(extract.errorText)")
    #expect(t.content("out/t/d/b") == t.content("t/d/b") && t.content("out/t/new") == Array("new".utf8))
  }

  @Test(
    "a file of a zip whose size follows its content is extracted completely, for any size",
    arguments: [0, 1, 1 << 20, 1 << 20 + 1, 5_000_001])
  func sizes(size: Int) throws {
    try t.file("t/d/b", size: size)
    let zip = try zip(Self.members)
    #expect(try run("extract", "-q", "--no-fsync", "-C", "out", "-", input: zip).status == 0)
    #expect(t.content("out/t/d/b")?.count == size && t.content("out/t/d/b") == t.content("t/d/b"))
    // The existing empty file is not from the archive.
    try t.file("out/t/d/b", "")
    #expect(try run("extract", "-q", "--no-fsync", "-C", "out", "-", input: zip).status == 1)
    #expect(try run("extract", "-q", "--no-fsync", "--force", "-C", "out", "-", input: zip).status == 0)
    #expect(t.content("out/t/d/b") == t.content("t/d/b"))
    let dry = try run("extract", "--dry-run", "-C", "other", "-", input: zip)
    #expect(dry.status == 0 && t.content("other/t/d/b") == nil, "\(dry.errorText)")
    var damaged = zip
    damaged[zip.count / 2] ^= 1
    let run = try run("extract", "-q", "--no-fsync", "-C", "damaged", "-", input: damaged)
    #expect(run.status == 5 && t.content("damaged/t/d/b") == nil || size < 100)
  }

  @Test("a name that occurs twice in a streamed zip gets its last content")
  func twice() throws {
    let zip = try zip(
      "z.writestr('f', 'one' * 500000); z.writestr('f', 'two' * 600000); z.writestr('g', 'x')")
    let extract = try run("extract", "-q", "--no-fsync", "-C", "out", "-", input: zip)
    #expect(extract.status == 0, "\(extract.errorText)")
    #expect(t.content("out/f") == Array(String(repeating: "two", count: 600_000).utf8))
  }

  @Test("a symbolic link that only the directory at the end of a zip marks is unsupported")
  func links() throws {
    let zip = try zip(
      "i = zipfile.ZipInfo('l'); i.create_system = 3; i.external_attr = 0o120777 << 16; z.writestr(i, 'a')")
    let verify = try run("verify", "-q", "-", input: zip)
    #expect(
      verify.status == 3 && verify.errorText.contains("symbolic links in a zip that is read as a stream (1)"))
  }

  @Test("a zip that is large enough for several reads is compared with its directory")
  func large() throws {
    let zip = try zip("for n in range(3000): z.writestr('member %d' % n, 'content %d' % n * 50)")
    let verify = try run("verify", "-q", "-", input: zip)
    #expect(verify.status == 0, "\(verify.errorText)")
    let list = try run("list", "-q", "-", input: zip)
    #expect(list.text.split(separator: "\n").count == 3000)
  }

  @Test("a zip whose directory does not match its members is damaged")
  func directories() throws {
    let zip = try zip(Self.members)
    let mark = Array("PK\u{1}\u{2}".utf8), endMark = Array("PK\u{5}\u{6}".utf8)
    let entries = zip.indices.filter { zip[$0...].starts(with: mark) }
    let end = try #require(zip.indices.last { zip[$0...].starts(with: endMark) })
    try #require(entries.count == 4)
    func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
      var bytes = zip
      change(&bytes)
      return bytes
    }
    let cases: [([UInt8], String)] = [
      (
        changed { $0[entries[1] + 10] ^= 8 },
        "its directory describes other members than the 4 that were read"
      ),
      (
        changed { $0[entries[0] + 46] ^= 1 },
        "its directory describes other members than the 4 that were read"
      ),
      (changed { $0.removeSubrange(entries[3]..<end) }, "its directory names 3 members, and 4 were read"),
      (
        changed { $0.insert(contentsOf: zip[entries[3]..<end], at: end) },
        "its directory names 5 members, and 4 were read"
      ),
      (changed { $0[end + 10] ^= 1 }, "the record that ends the zip is not valid"),
      (changed { $0[end] ^= 1 }, "the record that ends the zip is not valid"),
      (Array(zip[..<(end + 5)]), "truncated: its directory is not complete"),
      (Array(zip[..<(entries[2] + 50)]), "truncated: its directory is not complete"),
      (Array(zip[..<entries[0]]), "damaged"),
    ]
    for (bytes, text) in cases {
      let verify = try run("verify", "-q", "-", input: bytes)
      #expect(
        verify.status == 4 && verify.errorText.contains(text), "\(text): \(verify.status) \(verify.errorText)"
      )
      #expect(try run("list", "-q", "-", input: bytes).status == 5)
      #expect(try run("extract", "-q", "--no-fsync", "--force", "-C", "out", "-", input: bytes).status == 5)
    }
    let more = try run("verify", "-", input: zip + Array("more".utf8))
    #expect(more.errorText.contains("bytes after the end of the zip"), "\(more.status) \(more.errorText)")
  }

  @Test(
    "a tar or cpio is read to its end, and bytes after the end are reported",
    arguments: ["tar -cf - t", "find t | cpio -o -H newc"])
  func ends(command: String) throws {
    let archive = try Outcome(shell: command, in: t).output
    try #require(archive.count > 1000)
    #expect(try run("verify", "-q", "-", input: archive).status == 0)
    for more in [
      [UInt8](repeating: 0, count: 70_000), Array("more".utf8), [UInt8](repeating: 0, count: 700) + [1],
    ] {
      let verify = try run("verify", "-", input: archive + more)
      let isMore = more.contains { $0 != 0 }
      #expect(verify.status == (isMore ? 4 : 0), "\(verify.errorText)")
      #expect(
        verify.errorText.contains("bytes after the end of the archive") == isMore, "\(verify.errorText)")
    }
    #expect(try run("verify", "-q", "-", input: Array(archive.prefix(700))).status == 4)
  }

  @Test(
    "an archive without members is reported, and unexpected zeros at its beginning are damage")
  func empty() throws {
    let zeros = [UInt8](repeating: 0, count: 10_240)
    let none = try run("verify", "-", input: zeros)
    #expect(none.errorText.contains("it has no members"), "\(none.status) \(none.errorText)")
    let hidden = try run("verify", "-q", "-", input: zeros + Outcome(shell: "tar -cf - t", in: t).output)
    #expect(
      hidden.status == 4 && hidden.errorText.contains("it begins with zeros and has content after them"))
    for name in ["x.tar.gz", "x.7z", "x.zip", "x.cpio", "x.zst"] {
      try t.file(PathBytes(name), zeros)
      let verify = try CommandRun(["verify", "-q", PathBytes(name)], in: t)
      #expect(
        verify.status == 4 && verify.errorText.contains("damaged: it has no members"),
        "\(name): \(verify.errorText)")
    }
    let made = try Outcome(shell: "tar -cf x.zip t && tar -czf x.tar t", in: t)
    try #require(made.status == 0)
    for name in ["x.zip", "x.tar"] as [PathBytes] {
      let verify = try CommandRun(["verify", name], in: t)
      #expect(
        verify.errorText.contains("and its first bytes say something else"), "\(name): \(verify.errorText)")
    }
  }
}
