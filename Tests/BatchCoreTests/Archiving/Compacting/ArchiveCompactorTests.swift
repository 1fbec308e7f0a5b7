import BatchOutputs
import Foundation
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// A compacted archive has the needed members, as they were, and nothing else that it need not have.
@Suite(.timeLimit(.minutes(4))) struct ArchiveCompactorTests {
  private let t: TreeFixture
  private let run = RunContext()

  init() throws { t = try TreeFixture() }

  /// A tree with small files, hard links, a sparse and two large files, and links; and its archive in many frames.
  private func makeArchive(stride: Int, _ format: ArchiveFormat = .tarZstandard) throws {
    try shell(
      """
      mkdir -p src/a/b src/c && cd src
      for n in $(seq 60); do seq $n $((n * 40)) >a/f$n; done
      for n in $(seq 20); do head -c $((n * 1500)) /dev/urandom >a/b/r$n; ln a/b/r$n c/link$n; done
      head -c 20000000 /dev/zero | tr '\\0' x >large
      truncate -s 20M c/sparse; echo end >>c/sparse; truncate -s 2M c/small; echo x >>c/small
      head -c 17000000 /dev/zero | tr '\\0' y >c/other
      ln -s f1 a/symbolic; mkfifo a/pipe
      """)
    var batch = BatchOptions()
    (batch.concurrency, batch.stride) = (2, .fixed(stride))
    let run = RunContext(options: batch)
    var walk = WalkOptions()
    walk.takesEverything = true
    let options = ArchiveOptions(format: format)
    let output = try OutputFile(t.path("a"), isReplacing: false, isSynced: false, in: run)
    let source = try ArchiveSource(run.tree([t.path("src")], options: walk), options: options)
    let outcome = BatchRunner(run).run(ArchiveJob(options, output: output) { _ in }, over: source)
    try #require(outcome.summary.stopped == nil && outcome.summary.counts.failed == 0)
    try output.finish()
  }

  @discardableResult private func shell(_ script: String) throws -> Outcome {
    let outcome = try Outcome(shell: script, in: t)
    try #require(outcome.status == 0, "\(outcome.errorText)")
    return outcome
  }

  /// The name of a file of the tree in the archive.
  private func name(_ file: String) -> PathBytes { MemberNaming.name(of: t.path(PathBytes("src/\(file)"))) }

  private func open(_ name: PathBytes) throws -> ArchiveFile {
    try ArchiveFile(t.path(name), in: SourceContext(run))
  }

  private func index(_ name: PathBytes) throws -> MemberIndex {
    try ArchiveCompactor.open(open(name), memory: run.options.memory, by: run.reading).index
  }

  private func members(_ index: MemberIndex) throws -> [ArchivedMember] {
    var members: [ArchivedMember] = []
    try index.forEachMember(run.cancellation) { members.append($1) }
    return members
  }

  private func compact(
    _ name: PathBytes, _ needed: NeededMembers, to target: PathBytes, least: Int = 50,
    origin: StoredArchive? = nil
  ) throws -> ArchiveCompactor.Measure {
    let compactor = try ArchiveCompactor(
      open(name), needed: needed, least: least, memory: run.options.memory, by: run.reading)
    let output = try OutputFile(t.path(target), isReplacing: true, isSynced: false, in: run)
    try compactor.write(
      to: output, of: origin ?? StoredArchive(size: 5, digest: try Digest.sha256(of: [1])), run)
    try output.finish()
    return compactor.measure
  }

  @Test("any needed members of archives of any frames", arguments: [1, 7, 1000])
  func property(stride: Int) throws {
    try makeArchive(stride: stride)
    let all = try members(index("a"))
    let kinds = Dictionary(all.map { ($0.path, $0) }) { $1 }
    var generator = SeededNumbers(seed: Campaign.isFull ? UInt64.random(in: 0...UInt64.max) : UInt64(stride))
    for round in 0..<Campaign.cases(12) {
      let share = Int.random(in: 1...9, using: &generator)
      let chosen = all.filter { _ in Int.random(in: 0..<10, using: &generator) < share }
      guard !chosen.isEmpty else { continue }
      var needed = NeededMembers()
      for member in chosen { try needed.insert(member.path, member.digest) }
      let least = [1, 50, 50, 80, 100][Int.random(in: 0..<5, using: &generator)]
      let measure = try compact("a", needed, to: "b", least: least)
      let made = try members(index("b"))
      #expect(try needed.contradiction(index("b"), run.cancellation) == nil)
      // Every member is one of the original, with its digest and header.
      for member in made {
        let former = try #require(kinds[member.path])
        #expect(
          member.digest == former.digest && member.header == former.header && member.kind == former.kind)
      }
      // The order stays, so a hard link follows its file.
      #expect(made.map(\.path) == all.map(\.path).filter(Set(made.map(\.path)).contains))
      let links = Set(
        made.filter { $0.kind == .hardLink }.map { PathBytes($0.path.lastComponent.dropFirst(4)) })
      for link in links { #expect(made.contains { $0.path == name("a/b/r\(link)") }) }
      // Nothing that lowers the needed part below the limit.
      let bytes = try index("b").frames.dropLast().reduce(0) { $0 + $1.plainSize }
      #expect(bytes <= measure.needed * 100 / UInt64(max(least, 50)))
      #expect(measure.needed <= measure.total)
      #expect(try ArchiveReadBack(isSynced: false, run: run).damage(of: open("b")) == nil)
      let read = try shell(
        """
        set -e
        rm -rf x; mkdir x
        tar --zstd -xf b -C x
        (cd x && find . -type f -exec cmp {} /{} \\; )
        tar --zstd -tf b | wc -l
        """)
      #expect(read.text == "\(made.count)\n", "round \(round)")
    }
  }

  @Test("the origin is recorded, survives a second compaction, and a flipped bit in it is damage")
  func origin() throws {
    try makeArchive(stride: 3)
    let first = StoredArchive(size: 1 << 40, digest: try Digest.sha256(of: [7]))
    var needed = NeededMembers()
    for file in ["a/f1", "a/f30", "c/link4"] { try needed.insert(name(file), nil) }
    _ = try compact("a", needed, to: "b", origin: first)
    #expect(try index("a").origin == nil)
    #expect(try index("b").origin == first)
    _ = try compact(
      "b", needed, to: "c", origin: StoredArchive(size: 3, digest: try Digest.sha256(of: [8])))
    #expect(try index("c").origin == first)
    let bytes = try #require(t.content("c"))
    let mark = Array("BPORIG01".utf8)
    let place = try #require(bytes.indices.dropLast(88).last { bytes[$0...].starts(with: mark) })
    for offset in [-8, -4, 0, 8, 20, 50, 87] {
      var damaged = bytes
      damaged[place + offset] ^= 0x40
      try t.file("d", damaged)
      #expect(throws: BatchError.self, "\(offset)") { try index("d") }
    }
  }

  @Test("an archive that lacks a needed member, or has another content, is not compacted")
  func contradictions() throws {
    try makeArchive(stride: 5)
    var missing = NeededMembers()
    try missing.insert("src/none", nil)
    #expect(throws: BatchError.self) { try compact("a", missing, to: "b") }
    var other = NeededMembers()
    try other.insert(name("a/f1"), try Digest.sha256(of: [1]))
    #expect(throws: BatchError.self) { try compact("a", other, to: "b") }
    var outside = NeededMembers()
    #expect(throws: BatchError.self) { try outside.insert("../x", nil) }
    #expect(!t.exists("b"))
  }

  @Test("archives of other forms are not compacted", arguments: ["tar", "tar.gz"])
  func forms(format: String) throws {
    try makeArchive(stride: 5, try #require(ArchiveFormat(named: format)))
    var needed = NeededMembers()
    try needed.insert(name("a/f1"), nil)
    #expect(throws: BatchError.self) { try compact("a", needed, to: "b") }
  }

  @Test("percentages are compared exactly")
  func percent() {
    #expect(ArchiveCompactor.isBelow(50, 49, of: 100))
    #expect(!ArchiveCompactor.isBelow(50, 50, of: 100))
    #expect(!ArchiveCompactor.isBelow(0, 0, of: 100))
    #expect(ArchiveCompactor.isBelow(50, .max / 2, of: .max))
    #expect(!ArchiveCompactor.isBelow(50, .max / 2 + 1, of: .max))
    #expect(!ArchiveCompactor.isBelow(50, 0, of: 0))
  }
}
