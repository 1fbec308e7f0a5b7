import BatchEngine
import BatchOutputs
import Synchronization
import TestSupport
import Testing

@testable import BatchCore

/// Each call runs within a program: no command line, no terminal.
@Suite struct CallTests {
  private let t: TreeFixture
  private let run = RunContext()

  init() throws {
    t = try TreeFixture()
    for number in 1...5 {
      try t.file(PathBytes("t/\(number)"), String(repeating: "line \(number)\n", count: number * 500))
    }
    try t.file("t/copy", String(repeating: "line 1\n", count: 500))
  }

  private func paths(_ names: PathBytes...) -> CallInput {
    .paths(Operands(names.map { t.path($0) }), WalkOptions())
  }

  private func perform<C: Call>(
    _ call: C, _ input: CallInput,
    report: @escaping @Sendable (C.Report) throws(BatchError) -> Void = { _ in }
  ) throws -> CallOutcome<C.Result> {
    try call.perform(input, in: RunContext(), watchedBy: Unwatched(), report: report)
  }

  private func output(_ name: PathBytes, isReplacing: Bool = false) -> CallOutput {
    .file(.init(t.path(name), isReplacing: isReplacing, isSynced: false))
  }

  private func archived(_ name: PathBytes = "a.tar.zst") throws -> PathBytes {
    var call = ArchiveCall(ArchiveOptions(format: .tarZstandard), stride: nil)
    call.output = output(name)
    let outcome = try perform(call, paths("t"))
    #expect(outcome.verdict == [] && outcome.result?.size ?? 0 > 0)
    return t.path(name)
  }

  // MARK: Digests

  @Test("hashes files into a manifest, which a check reads")
  func hash() throws {
    var call = HashCall(try ManifestWriter(.gnu, algorithms: [.sha256]))
    call.output = output("m")
    let rows = Mutex(0)
    let outcome = try perform(call, paths("t")) { found in rows.withLock { $0 += found.count } }
    #expect(outcome.verdict == [] && rows.withLock { $0 } == 6)
    let check = try perform(CheckCall(ManifestReader.Options(), in: nil), paths("m"))
    #expect(check.verdict == [] && check.result?.matches == 6)
    try t.file("t/1", "changed")
    #expect(try perform(CheckCall(ManifestReader.Options(), in: nil), paths("m")).verdict == .differences)
  }

  @Test("gives no manifest its name if each path is missing, and keeps one with rows if no file was found")
  func noManifest() throws {
    var call = HashCall(try ManifestWriter(.gnu, algorithms: [.sha256]))
    call.output = output("m")
    #expect(try perform(call, paths("none")).verdict == [.nothing, .someFailed])
    #expect(t.content("m") == nil)
    try t.file("m", "rows")
    try t.folder("empty")
    call.output = output("m", isReplacing: true)
    let outcome = try perform(call, paths("empty"))
    #expect(outcome.failure?.code == .missing && outcome.result == nil)
    #expect(t.content("m") == Array("rows".utf8))
  }

  @Test("finds copies, and links them")
  func duplicates() throws {
    let groups = Mutex<[DuplicateGroup]>([])
    var call = DuplicatesCall()
    call.keepsNames = true
    let outcome = try perform(call, paths("t")) { found in groups.withLock { $0 = found.files } }
    let found = groups.withLock { $0 }
    #expect(outcome.verdict == [] && found.map(\.paths) == [[t.path("t/1"), t.path("t/copy")]])
    let linked = try perform(LinkCall(found, .hard, isDryRun: false, isSynced: false), .items([]))
    #expect(linked.verdict == [] && linked.result?.linked == 1)
    #expect(try t.path("t/copy").status().linkCount == 2)
  }

  @Test("compares a folder with a manifest")
  func audit() throws {
    var call = HashCall(try ManifestWriter(.gnu, algorithms: [.sha256]))
    call.output = output("m")
    _ = try perform(call, paths("t"))
    func audit() throws -> CallOutcome<AuditCall.Result> {
      try perform(
        AuditCall(
          .pair(
            .manifest(t.path("m")), .folder(t.path("t")), parts: nil, aligns: true, walk: WalkOptions())),
        .items([]))
    }
    #expect(try audit().verdict == [])
    try t.file("t/2", "other")
    #expect(try audit().verdict == .differences)
  }

  // MARK: Outputs

  @Test("compresses, tests, prints and decompresses files")
  func compress() throws {
    var options = OutputOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
    (options.removesSource, options.isSynced) = (true, false)
    let before = t.content("t/3")
    let compressed = try perform(CompressCall(.gz, level: nil, options), paths("t"))
    #expect(compressed.verdict == [] && compressed.result?.written == 6 && t.content("t/3") == nil)
    #expect(try perform(TestCall(), paths("t")).result?.damaged == 0)
    let stream = Collected()
    var cat = CatCall(mostOutput: nil)
    cat.stream = stream
    #expect(try perform(cat, paths("t/3.gz")).verdict == [] && stream.bytes == before)
    options = OutputOptions(naming: OutputNaming(.decompressing, directory: nil))
    options.isSynced = false
    #expect(try perform(DecompressCall(options, mostOutput: nil), paths("t")).result?.written == 6)
    #expect(t.content("t/3") == before)
    try t.file("t/3.gz", [0x1f, 0x8b, 8, 0, 1, 2, 3])
    #expect(try perform(TestCall(), paths("t")).verdict.contains(.differences))
  }

  // MARK: Archives

  @Test("archives, lists, verifies, prints and extracts members")
  func archive() throws {
    let archive = ReadArchive(try archived())
    let names = Mutex<[UInt8]>([])
    let list = ListCall(.archive(archive, .all, globs: [])) { (member, bytes) in
      bytes += (member.entry?.path.bytes ?? []) + [0x0a]
    }
    let listed = try perform(list, .items([])) { rows in names.withLock { $0 += rows.bytes } }
    #expect(listed.verdict == [] && names.withLock { $0 }.count { $0 == 0x0a } == 7)
    #expect(try perform(VerifyCall(archive), .items([])).verdict == [])
    let stream = Collected()
    let globs: [PathBytes] = ["*/2"]
    let print = PrintCall(
      archive, MemberSelection(globs: globs), globs: globs, ArchiveLimits(), to: stream)
    #expect(try perform(print, .items([])).verdict == [] && stream.bytes == t.content("t/2"))
    var options = ExtractionOptions()
    options.isSynced = false
    let extract = ExtractCall(.archive(archive, .all, globs: []), into: t.path("out"), options)
    #expect(try perform(extract, .items([])).verdict == [])
    let unmatched: [PathBytes] = ["no such member"]
    let nothing = ExtractCall(
      .archive(archive, MemberSelection(globs: unmatched), globs: unmatched), into: t.path("out"), options)
    #expect(try perform(nothing, .items([])).verdict == [.nothing, .someFailed])
  }

  @Test("lists what an archive would have, and what a walk finds, and writes nothing")
  func previews() throws {
    var call = ArchiveCall(ArchiveOptions(format: .tarZstandard), stride: nil)
    call.output = output("a.tar.zst")
    let rows = Mutex(0)
    let preview = ArchivePreviewCall(of: call) { (_, _, bytes) in bytes.append(0) }
    #expect(try perform(preview, paths("t")) { found in rows.withLock { $0 += found.count } }.verdict == [])
    let list = FileListCall(name: { $0.path }) { (_, bytes) in bytes.append(0) }
    #expect(try perform(list, paths("t")) { found in rows.withLock { $0 += found.count } }.verdict == [])
    #expect(rows.withLock { $0 } == 13 && t.content("a.tar.zst") == nil)
  }

  // MARK: Backups

  @Test("makes a snapshot and restores it; a run without any file makes none")
  func backup() throws {
    var options = BackupOptions()
    options.isSynced = false
    let set = try BackupSet(in: t.path("set"), named: "s")
    let outcome = try perform(BackupCall(to: set, options), paths("t"))
    #expect(outcome.verdict == [] && outcome.result?.content.footer.files == 6)
    var extraction = ExtractionOptions()
    extraction.isSynced = false
    let newest = RestoreSource(
      globs: [], strip: 0, in: set.directory, named: nil, at: nil, of: SeriesChoice(), patience: .none)
    let restored = try perform(ExtractCall(.snapshot(newest), into: t.path("out"), extraction), .items([]))
    #expect(restored.verdict == [])
    let preview = BackupPreviewCall(to: set, options) { (path, bytes) in bytes += path.bytes }
    #expect(try perform(preview, paths("t")).result?.preparation.header.increment == 1)
    expectError(.missing) { try perform(BackupCall(to: set, options), paths("none")) }
    #expect(try set.content(in: run).snapshots.count == 1)
  }
}

/// A stream that keeps what is written.
private final class Collected: ResultStream {
  private let written = Mutex<[UInt8]>([])

  var bytes: [UInt8] { written.withLock { $0 } }

  func write(_ bytes: [UInt8]) { written.withLock { $0 += bytes } }
  func finish() {}
}
