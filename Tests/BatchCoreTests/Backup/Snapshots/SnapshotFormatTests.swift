import BatchEngine
import BatchOutputs
import Foundation
import TestSupport
import Testing

@testable import BatchCore

/// Names, rows and order of backup manifests.
@Suite struct SnapshotFormatTests {
  @Test("a stamp is a moment in UTC, and other texts are refused")
  func stamps() {
    for seconds: Int64 in [0, 951_782_399, 1_795_366_157, 4_102_444_800] {
      #expect(LocalTime.seconds(ofStamp: LocalTime.stamp(of: seconds).utf8) == seconds)
    }
    #expect(LocalTime.stamp(of: 1_795_366_157) == "20261122T164917Z")
    for text in [
      "", "20261122T164917", "20261322T164917Z", "20260230T000000Z", "2026112aT164917Z", "20261122 164917Z",
    ] {
      #expect(LocalTime.seconds(ofStamp: text.utf8) == nil, "\(text)")
    }
  }

  @Test("the name of a set may have dashes, and another set's name is not mistaken for it")
  func names() throws {
    let name = SnapshotName(set: "a-b", seconds: 1_795_366_157)
    #expect(name.archive == "a-b-20261122T164917Z.tar.zst")
    #expect(SnapshotName(file: name.manifest.bytes, set: "a-b", suffix: SnapshotName.manifestSuffix) == name)
    #expect(SnapshotName(file: name.manifest.bytes, set: "a", suffix: SnapshotName.manifestSuffix) == nil)
    for bad: PathBytes in ["", ".a", "a/b", PathBytes([0xff])] {
      expectError(.invalid) { try SnapshotName.check(bad) }
    }
  }

  private func entry(_ path: PathBytes, _ generator: inout SeededNumbers) throws -> SnapshotEntry {
    var raw = stat()
    raw.st_mode = S_IFREG | UInt32.random(in: 0...0o7777, using: &generator)
    raw.st_size = Int.random(in: 0...(1 << 40), using: &generator)
    raw.st_ino = UInt.random(in: 0...UInt.max, using: &generator)
    raw.st_nlink = 2
    raw.st_mtim = timespec(
      tv_sec: Int.random(in: -5...(1 << 40), using: &generator),
      tv_nsec: Int.random(in: 0..<1_000_000_000, using: &generator))
    raw.st_ctim = timespec(tv_sec: -1, tv_nsec: 999_999_999)
    var entry = SnapshotEntry(FileStatus(raw), path: path, archive: "20261122T164917Z")
    entry.digest = Digest(.sha256, bytes: (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
    entry.isUnsettled = Bool.random(using: &generator)
    if Bool.random(using: &generator) { entry.firstName = PathBytes(path.bytes + [0xfe]) }
    return entry
  }

  @Test("a row stores all fields, with any bytes in the name")
  func rows() throws {
    var generator = SeededNumbers(seed: 7)
    for _ in 0..<500 {
      let path = PathBytes(generator.bytes(1...40, of: Array(1...255)))
      let entry = try entry(path, &generator)
      var line = [UInt8]()
      entry.appendLine(to: &line)
      #expect(line.popLast() == UInt8(ascii: "\n"))
      #expect(try SnapshotEntry(SnapshotLine(line)) == entry)
      #expect(line.firstIndex(of: UInt8(ascii: "\n")) == nil)
    }
  }

  @Test("the fast parser and the general parser give the same result")
  func parser() throws {
    var generator = SeededNumbers(seed: 9)
    var parser = SnapshotRowParser()
    var found = 0
    for turn in 0..<3000 {
      let path = PathBytes(generator.bytes(1...40, of: Array(turn % 2 == 0 ? 0x61...0x7a : 1...255)))
      var line = [UInt8]()
      var entry = try entry(path, &generator)
      if turn % 4 > 0 {
        entry.inode >>= 10
        (entry.modified, entry.statusChanged) = (
          FileStatus.Time(seconds: abs(entry.modified.seconds), nanoseconds: entry.modified.nanoseconds),
          FileStatus.Time(seconds: Int64(turn), nanoseconds: Int32(turn))
        )
        if turn % 8 == 2 { (entry.kind, entry.digest, entry.linkTarget) = (.symbolicLink, nil, path) }
      }
      entry.appendLine(to: &line)
      line.removeLast()
      if turn % 3 == 0 {
        line[Int.random(in: line.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      guard let fast = parser.entry(line) else { continue }
      found += 1
      #expect(try SnapshotEntry(SnapshotLine(line)) == fast, "\(PathBytes(line))")
    }
    #expect(found > 200)
  }

  @Test("a row of a file with a plain name is read by the fast parser", arguments: [1, 2] as [UInt64])
  func fastParser(names: UInt64) throws {
    var generator = SeededNumbers(seed: 10)
    var entry = try entry("a/b c.txt", &generator)
    (entry.inode, entry.modified, entry.linkCount) = (7, .init(seconds: 1, nanoseconds: 2), names)
    (entry.statusChanged, entry.firstName) = (.init(seconds: 1, nanoseconds: 2), names > 1 ? "a/a" : nil)
    (entry.linkGroup, entry.isUnsettled) = (names > 1 ? 3 : nil, true)
    var line = [UInt8]()
    entry.appendLine(to: &line)
    line.removeLast()
    var parser = SnapshotRowParser()
    #expect(parser.entry(line) == entry)
    #expect(SnapshotRowParser.isWithoutLinks(line) == (names == 1))
    let found = line.withUnsafeBufferPointer {
      SnapshotRowParser.plainPath($0).map { (PathBytes($0.path), $0.isFolder) }
    }
    #expect(try #require(found) == (entry.path, false))
    for cut in line.indices { #expect(parser.entry(Array(line[..<cut])) == nil) }
  }

  /// The keys of a row, from the list of its columns.
  private struct ColumnKeys: SnapshotColumnVisitor {
    typealias Key = String
    typealias Failure = Never

    /// All keys in order; a name may also have the key with `_b64`.
    var all: [String] = []
    var optional: [String] = []
    var names: Set<String> = []

    mutating func kind(_ key: String, _: inout ArchiveEntry.Kind) { all.append(key) }
    mutating func path(_ key: String, _: inout PathBytes) {
      all.append(key)
      names.insert(key)
    }
    mutating func path(_ key: String, _: inout PathBytes?) {
      all.append(key)
      optional.append(key)
      names.insert(key)
    }
    mutating func number<Number>(_ key: String, _: inout Number, below: UInt64) { all.append(key) }
    mutating func number(_ key: String, _: inout UInt64?, below: UInt64) {
      all.append(key)
      optional.append(key)
    }
    mutating func time(_ key: String, _: inout FileStatus.Time) { all.append(key) }
    mutating func digest(_ key: String, _: inout Digest?) {
      all.append(key)
      optional.append(key)
    }
    mutating func stamp(_ key: String, _: inout String) { all.append(key) }
    mutating func flag(_ key: String, _: inout Bool) { all.append(key) }

    init() {
      var entry = SnapshotEntry.blank
      entry.visitColumns(with: &self)
    }
  }

  /// The words in backticks that may be keys.
  private static func keys(in text: Substring) -> [String] {
    text.matches(of: /`([a-z_0-9]+)`/).map { String($0.output.1) }.filter { $0 != "true" }
  }

  private static func page(_ name: String) throws -> [Substring] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8).split(separator: "\n")
  }

  @Test("docs/formats.md names the columns in their order, and which ones a row may lack")
  func columnsInFormats() throws {
    let columns = ColumnKeys()
    let row = try #require(try Self.page("docs/formats.md").first { $0.hasPrefix("| for each path |") })
    #expect(Self.keys(in: row).filter { !$0.hasSuffix("_b64") } == columns.all)
    let optional = row.matches(of: /if the path has (?:them|it), ([^;]*);/).flatMap {
      Self.keys(in: $0.output.1)
    }
    #expect(optional == columns.optional)
  }

  @Test("docs/backup.md explains each column in a table, in their order")
  func columnsInBackup() throws {
    let columns = ColumnKeys()
    let table = try Self.page("docs/backup.md").drop { $0 != "| field | is |" }.prefix { $0.hasPrefix("|") }
    let cells = table.dropFirst(2).compactMap { $0.split(separator: "|").first }
    #expect(
      cells.flatMap(Self.keys)
        == columns.all.flatMap { columns.names.contains($0) ? [$0, $0 + "_b64"] : [$0] })
  }

  @Test("an invalid row is refused without a trap")
  func damagedRows() throws {
    var generator = SeededNumbers(seed: 8)
    let entry = try entry("a/b", &generator)
    var line = [UInt8]()
    entry.appendLine(to: &line)
    line.removeLast()
    for cut in 0..<line.count {
      expectError(.malformed) { try SnapshotEntry(SnapshotLine(Array(line[..<cut]))) }
    }
    for _ in 0..<2000 {
      var damaged = line
      damaged[Int.random(in: damaged.indices, using: &generator)] = UInt8.random(
        in: 0...255, using: &generator)
      _ = try? SnapshotEntry(SnapshotLine(damaged))
    }
  }

  @Test("the facts of a manifest with many sources are read, up to the limit of memory")
  func manySources() throws {
    let t = try TreeFixture()
    let run = RunContext()
    let name = SnapshotName(set: "s", seconds: 1_795_366_157)
    let file = try OutputFile(t.path(name.manifest), isReplacing: false, isSynced: false, in: run)
    let started = FileStatus.Time(seconds: 1_795_366_157, nanoseconds: 0)
    let writer = try SnapshotWriter(
      SnapshotHeader(name: name, sequence: 1, started: started, increment: 0), to: file)
    let folder = String(repeating: "n", count: 120)
    for number in 0..<9000 {
      try writer.begin(SnapshotSource(path: PathBytes("/\(folder)\(number)"), fileSystem: "1"))
    }
    try writer.finish(archiveSize: 1, index: nil, isVerified: false, selection: "")
    try file.finish()
    let manifest = ManifestFile(t.path(name.manifest))
    let facts = try SnapshotReader.facts(manifest, in: SourceContext(run))
    #expect(facts.header.name == name && facts.footer == writer.footer)
    // The first line is written without a list here, as by earlier versions; the footer has it.
    var header = facts.header
    try header.addSources(of: facts.footer)
    #expect(header.sources?.paths == writer.footer.sources.map(\.path))
    var line = [UInt8]()
    header.appendLine(to: &line)
    #expect(line.count < 1000)
    #expect(try SnapshotHeader(SnapshotLine(line)).sources == header.sources)
    try SnapshotReader.check(manifest, in: SourceContext(run))
    var options = BatchOptions()
    options.memory = 1 << 20
    let small = RunContext(options: options)
    expectError(.exhausted) { try SnapshotReader.facts(manifest, in: SourceContext(small)) }
  }

  @Test(
    "the first line has machine and sources with names of any bytes, and a reader ignores unknown members",
    arguments: [["/"], ["/a", "/b//c,\n"], [PathBytes("/a"), PathBytes(Array("/".utf8) + [0xff, 0x0a])]]
      as [[PathBytes]])
  func origin(sources: [PathBytes]) throws {
    var header = SnapshotHeader(
      name: SnapshotName(set: "s", seconds: 1_795_366_157), sequence: 3,
      started: FileStatus.Time(seconds: 1_795_366_157, nanoseconds: 7), increment: 2)
    let machine = try Machine(identity: nil, host: "host")
    let list = try SourceList(sources)
    (header.machine, header.host, header.sources) = (machine.id, machine.host, list)
    header.sourcesWord = try machine.word(for: list)
    var line = [UInt8]()
    header.appendLine(to: &line)
    line.removeLast(2)
    let read = try SnapshotHeader(SnapshotLine(line + Array(#","later":"x"}"#.utf8)))
    #expect(read == header && read.sources?.paths == sources)
    for member in [
      #""sources":"a""#, #""sources":"""#, #""sources":5"#, #""machine":"x""#, #""sources_word":1"#,
    ] {
      let bad =
        #"{"type":"snapshot","schema":1,"set":"s","id":"20261122T164917Z","sequence":1,"started":"1.000000000","increment":0,\#(member)}"#
      expectError(.malformed, about: "\(member)") { try SnapshotHeader(SnapshotLine(Array(bad.utf8))) }
    }
  }

  @Test("the order of the rows is that of a walk")
  func order() throws {
    let t = try TreeFixture()
    var generator = SeededNumbers(seed: 9)
    let alphabet: [UInt8] = Array("aab.-".utf8) + [0xff]
    for _ in 0..<400 {
      var path = [UInt8]()
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        if !path.isEmpty { path.append(UInt8(ascii: "/")) }
        path += generator.bytes(1...3, of: alphabet)
      }
      if path.split(separator: UInt8(ascii: "/")).contains(where: { $0.isDots }) { continue }
      _ = try? t.file(PathBytes(path), "x")
    }
    var options = WalkOptions()
    options.takesEverything = true
    let run = RunContext()
    var tree = run.tree([t.root], options: options)
    var walked: [(path: [UInt8], isFolder: Bool)] = []
    while let item = tree.next() {
      guard case .item(.file(let record)) = item else { continue }
      walked.append((MemberNaming.name(of: record.path).bytes, record.status.kind == .directory))
    }
    #expect(walked.count > 100)
    for (left, first) in walked.enumerated() {
      for (right, second) in walked.enumerated() {
        let order = TreeOrder.compare(
          first.path, isFolder: first.isFolder, second.path, isFolder: second.isFolder)
        // Without `#expect`, which is slow for so many pairs.
        if order.signum() != (left - right).signum() {
          Issue.record("\(PathBytes(first.path)) \(PathBytes(second.path))")
        }
      }
    }
  }
}
