import BatchCore
import BatchEngine
import TestSupport
import Testing

/// A name may have any bytes but `/` and NUL, and is read back from the manifest unchanged.
@Suite struct NameTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Names that cause errors in quoting, splitting, trimming or on a terminal.
  static let nasty: [PathBytes] = [
    "a\nb", "\n", "\n\n", "a\rb", "b\r", "\r\n", #"a\b"#, #"\n"#, #"\\n"#, #"\"#, #"end\"#, "-rf", "--help",
    "-",
    " ", "  ", " a", "a ", "\t", "...", "..foo", "..data", "a..b", "*", "?", "[a]", "$(id)", "`id`", ";id",
    "|id",
    "a=b", "@x", "%s%n", "%p", "%@", "%d%d%d", "#hash", "\"q\"", "'q'", "(a) = b", "SHA256 (x) = 00",
    "type=file",
    "\u{1b}[2J\u{1b}[31mX\u{1b}]0;pwn\u{7}", "x\u{202e}gpj.sh", "c1\u{9b}31m", "\u{7f}", "\u{feff}bom",
    "\u{2028}",
    "caf\u{e9}", "cafe\u{301}", "Readme", "README", "\u{1f600}", "null", "NaN", "1e9999", "0x", "CON",
    "aux.txt",
    "<b>x<b>", "'; DROP TABLE x;--", #"..\..\etc"#, "田中さん", "הָיְתָה", "Ω≈ç√∫",
    PathBytes([0x6b, 0xfe]), PathBytes([0x6b, 0xff]), PathBytes([0xc2]), PathBytes([0xed, 0xa0, 0x80]),
    PathBytes([0xf0, 0x9f]), PathBytes([UInt8](repeating: 0x78, count: 255)),
    PathBytes([UInt8](repeating: 0xff, count: 255)),
  ]

  static let singleBytes = (1...255).map { PathBytes([UInt8($0)]) }.filter { $0 != "." && $0 != "/" }

  @Test("each difficult name has one row, and the manifest verifies", arguments: [nasty, singleBytes])
  func roundTrip(names: [PathBytes]) throws {
    for (index, name) in names.enumerated() {
      try t.file(PathBytes("t").appending(name.bytes), "content \(index)")
    }
    let manifest = try t.batchproc("hash", "t")
    #expect(manifest.status == 0)
    #expect(manifest.rows.count == names.count)
    #expect(Set(manifest.rows.map { $0.suffix(from: 64) }).count == names.count)
    try t.file("m", manifest.output)

    let check = try t.batchproc("check", "m")
    #expect(check.status == 0)
    #expect(check.rows.count == names.count)
    #expect(check.rows.allSatisfy { $0.suffix(4).elementsEqual(": OK".utf8) })
    #expect(try t.shell("$BP hash -z t | $BP check -z --quiet -").status == 0)
  }

  @Test(
    "sha256sum verifies each row",
    arguments: ["gnu", "bsd"] as [PathBytes])
  func coreutilsAgrees(form: PathBytes) throws {
    for name in Self.nasty + Self.singleBytes {
      try t.file(PathBytes("t").appending(name.bytes), name.bytes)
    }
    let manifest = try t.batchproc("hash", "--format", form, "t")
    try t.file("m", manifest.output)
    let verdict = try t.shell("sha256sum --check --strict --quiet m", environment: ["LC_ALL": "C"])
    #expect(verdict.status == 0, "\(verdict.errorText)")
    #expect(verdict.text == "")
  }

  @Test("our rows are those of sha256sum, byte for byte")
  func sameRows() throws {
    // coreutils 9.2 and later also escape carriage returns; we read both forms.
    let names = Self.nasty.filter { !$0.bytes.contains(0x0d) }
    for name in names { try t.file(PathBytes("t").appending(name.bytes), name.bytes) }
    let ours = try t.batchproc("hash", "t")
    let theirs = try t.shell("find t -type f -print0 | xargs -0 sha256sum")
    #expect(Set(ours.rows) == Set(theirs.rows))
    let zero = try t.batchproc("hash", "-z", "t")
    let theirZero = try t.shell("find t -type f -print0 | xargs -0 sha256sum --zero")
    #expect(Set(zero.output.split(separator: 0)) == Set(theirZero.output.split(separator: 0)))
  }

  @Test("rows are sorted by the bytes of the names")
  func order() throws {
    for name in Self.nasty { try t.file(PathBytes("t").appending(name.bytes), "") }
    let rows = try t.batchproc("hash", "-z", "t").output.split(separator: 0).map {
      PathBytes($0.dropFirst(68))
    }
    #expect(rows == Self.nasty.sorted())
  }

  @Test("names that look like the escapes of other names are distinguished")
  func escapesStayApart() throws {
    for name in [#"a\b"#, #"\n"#, #"\\n"#, "\n"] as [PathBytes] {
      try t.file(PathBytes("t").appending(name.bytes), name.bytes)
    }
    let manifest = try t.batchproc("hash", "t")
    #expect(manifest.rows.count == 4)
    try t.file("m", manifest.output)
    try t.file("t/\n", "changed")
    let check = try t.batchproc("check", "m")
    #expect(check.status == 4)
    #expect(check.text.contains(#"\t/\n: FAILED"#))
    #expect(check.rows.filter { $0.suffix(4).elementsEqual(": OK".utf8) }.count == 3)
  }

  @Test("an operand with a dash after -- is a file")
  func dashes() throws {
    for name in ["-rf", "--help", "-"] as [PathBytes] { try t.file(name, name.bytes) }
    let manifest = try t.batchproc("hash", "--", "-rf", "--help", "./-")
    #expect(manifest.status == 0)
    #expect(
      manifest.rows.map { String(decoding: $0.dropFirst(66), as: UTF8.self) } == ["-rf", "--help", "./-"])
    #expect(t.names() == ["-", "--help", "-rf"])
  }

  @Test(
    "paths begin with the operand as it was typed, as with find",
    arguments: [
      "t", "t/", "./t", "t/.", "t//", "../w/t",
    ])
  func spellings(operand: String) throws {
    try t.writeTree("w/t")
    let ours = try t.shell(
      "cd w/t/.. && $BP hash -z '\(operand)' | tr '\\0' '\\n' | cut -c67- | sort",
      environment: ["LC_ALL": "C"])
    #expect(ours.rows.count == 5)
    #expect(ours.rows.allSatisfy { $0.starts(with: operand.utf8) })
  }

  @Test("an absolute operand gives absolute paths")
  func absoluteOperand() throws {
    try t.writeTree()
    let prefix = t.root.bytes + Array("/t/".utf8)
    let rows = try t.batchproc("hash", t.path("t")).rows
    #expect(rows.count == 5)
    #expect(rows.allSatisfy { $0.dropFirst(66).starts(with: prefix) })
  }

  @Test(
    "an empty operand is an error, and not the working folder", arguments: ["hash", "check"])
  func emptyOperand(command: PathBytes) throws {
    try t.writeTree()
    let run = try t.batchproc(command, "")
    #expect(run.status == 1)
    #expect(run.output.isEmpty)
    #expect(run.messages == ["batchproc: '': an operand is the empty name"])
  }

  @Test("a path longer than PATH_MAX is hashed, and verified by its relative name")
  func longerThanPathMax() throws {
    let made = try t.shell(
      """
      mkdir t && python3 -c "
      import os
      os.chdir('t')
      for _ in range(40): os.mkdir('d'*200); os.chdir('d'*200)
      open('leaf','w').write('x')"
      """)
    try #require(made.status == 0)
    let manifest = try t.batchproc("hash", "t")
    #expect(manifest.status == 0, "\(manifest.errorText)")
    let path = "t/" + String(repeating: String(repeating: "d", count: 200) + "/", count: 40) + "leaf"
    let row = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  " + path + "\n"
    #expect(manifest.text == row)
    try t.file("m", manifest.output)
    #expect(try t.batchproc("check", "--quiet", "m").status == 0)
    try t.file("list", path)
    #expect(try t.batchproc("hash", "--files-from", "list").text == row)
  }

  @Test(
    "a missing path is named literally, also when it contains % directives",
    arguments: [
      "nosuch-%s-%@-%n", "nosuch*", "$(id)",
    ])
  func printfDirectives(name: PathBytes) throws {
    for command in ["hash", "check"] as [PathBytes] {
      let run = try t.batchproc(command, name)
      #expect(run.status == 1)
      #expect(run.messages.count == 1)
      #expect(run.errorText.contains(name.description))
    }
  }

  @Test(
    "no message contains a control byte of a name",
    arguments: [
      "\u{1b}[2J\u{1b}]0;pwn\u{7}", "a\nb", "c1\u{9b}31m", "x\u{202e}gpj", PathBytes([0x6b, 0x9b, 0xff]),
      "\r\u{8}x",
    ])
  func messagesAreSafe(name: PathBytes) throws {
    for arguments in [
      ["hash", name], ["check", name], ["hash", "--files-from", name], ["hash", "-j", name, "t"],
      [name], ["hash", "-o", name.appending("x".utf8), "."], ["hash", "--exclude-from", name, "."],
    ] as [[PathBytes]] {
      let run = try t.batchproc(arguments)
      #expect(run.status != 0)
      #expect(!run.errors.isEmpty)
      let text = try #require(String(validating: run.errors, as: UTF8.self), "\(run.errorText)")
      let isSafe = text.unicodeScalars.allSatisfy {
        $0 == "\n" || !($0.value < 0x20 || (0x7f...0x9f).contains($0.value) || $0.value == 0x202e)
      }
      #expect(isSafe, "\(arguments): \(run.errors)")
    }
  }
}
