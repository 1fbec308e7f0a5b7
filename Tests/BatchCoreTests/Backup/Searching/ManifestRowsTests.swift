import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The search for rows of a manifest")
struct ManifestRowsTests {
  private func entry(_ path: PathBytes, _ kind: ArchiveEntry.Kind = .file) -> SnapshotEntry {
    SnapshotEntry(kind: kind, path: path, archive: "20261120T020000Z")
  }

  private func found(_ glob: PathBytes, in entries: [SnapshotEntry], pieces: Int) throws -> [PathBytes] {
    var bytes = Array(#"{"type":"snapshot","schema":1}"#.utf8) + [UInt8(ascii: "\n")]
    for entry in entries { entry.appendLine(to: &bytes) }
    let search = PathSearch(glob)
    var rows = ManifestRows()
    var found = [PathBytes]()
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      try withBytes(of: Array(bytes[start..<min(start + pieces, bytes.count)])) {
        (piece) throws(BatchError) in
        try rows.take(piece) { (line) throws(BatchError) in
          if let entry = try ManifestRows.entry(line, of: search) { found.append(entry.path) }
        }
      }
    }
    return found
  }

  @Test("finds rows across the borders of pieces, with names of any bytes", arguments: [1, 7, 100, 1 << 20])
  func pieces(size: Int) throws {
    let odd = PathBytes(Array("a/q\"\\\n".utf8) + [0xff])
    let entries = [entry("a", .directory), entry("a/b.txt"), entry(odd), entry("a/b.txt2"), entry("c/b.txt")]
    #expect(try found("*.txt", in: entries, pieces: size) == ["a/b.txt", "c/b.txt"])
    #expect(try found("q*", in: entries, pieces: size) == [odd])
    #expect(try found("a", in: entries, pieces: size) == ["a"])
    #expect(try found("a/", in: entries, pieces: size) == ["a"])
  }

  @Test("matches the last name, the end of the path, or the whole path")
  func globs() throws {
    let entries = ["srv/src/y", "srv/src/y/z", "src/y", "x/src2/y"].map { entry(PathBytes($0)) }
    #expect(try found("y", in: entries, pieces: 64).count == 3)
    #expect(try found("src/y", in: entries, pieces: 64) == ["srv/src/y", "src/y"])
    #expect(try found("/src/y", in: entries, pieces: 64) == ["src/y"])
    #expect(try found("/s*y", in: entries, pieces: 64) == ["srv/src/y", "src/y"])
  }

  @Test(
    "finds a path that the text names, whether or not it is a glob too",
    arguments: [
      ("[a].txt", "s/d/[a].txt"), ("d/[a].txt", "s/d/[a].txt"), ("/s/d/[a].txt", "s/d/[a].txt"),
      ("[a.txt", "s/d/[a.txt"), (#"d/b\c"#, #"s/d/b\c"#),
    ] as [(PathBytes, PathBytes)])
  func names(text: PathBytes, path: PathBytes) throws {
    let paths = ["s/d/[a].txt", "s/d/[a.txt", #"s/d/b\c"#, "s/xd/[a].txt2", "[a"] as [PathBytes]
    #expect(try found(text, in: paths.map { entry($0) }, pieces: 64) == [path])
  }

  @Test("refuses a line without an end before it fills the memory")
  func endless() throws {
    var rows = ManifestRows()
    expectError(.malformed) {
      for _ in 0..<40 {
        try withBytes(of: [UInt8](repeating: 0x20, count: 1 << 16)) { (piece) throws(BatchError) in
          try rows.take(piece) { _ in }
        }
      }
    }
  }
}
