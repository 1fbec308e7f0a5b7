import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct FolderEntriesTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws { fixture = try TreeFixture() }

  private func read() throws -> (names: [[UInt8]], kinds: [FileStatus.Kind?], error: BatchError?) {
    let folder = try FolderOpener(calls: calls).open(fixture.root, followingLast: false)
    let listing = calls.entries(of: folder)
    let arena = NameArena(listing.names)
    return (
      listing.entries.map { arena.withName(at: $0.nameOffset) { Array($0) } },
      listing.entries.map(\.kind), listing.error
    )
  }

  @Test func sortsByBytesWithoutDots() throws {
    let names: [[UInt8]] = [
      [0x01], Array(" ".utf8), Array("...".utf8), Array("..a".utf8), Array(".a".utf8), Array("B".utf8),
      Array("a".utf8), Array("a b".utf8), Array("a-b".utf8), Array("aa".utf8), [0x7f], [0xc3, 0xa9], [0xff],
      [UInt8](repeating: 0xff, count: 255),
    ]
    for name in names.shuffled() { try fixture.file(PathBytes(name), "") }
    #expect(try read().names == names)
  }

  @Test func distinguishesKinds() throws {
    try fixture.file("a", "")
    try fixture.folder("b")
    try fixture.fifo("c")
    try fixture.symbolicLink("d", to: "a")
    try fixture.socket("e")
    #expect(try read().kinds == [.regular, .directory, .fifo, .symbolicLink, .socket])
    calls.on(.readEntries, nil, .withoutKinds)
    #expect(try read().kinds == [nil, nil, nil, nil, nil])
  }

  @Test func findsNothingInAnEmptyFolder() throws {
    let listing = try read()
    #expect(listing.names.isEmpty)
    #expect(listing.error == nil)
  }

  @Test func joinsTheResultsOfManyCalls() throws {
    try fixture.emptyFiles((0..<300).map { "file\($0)" })
    calls.on(.readEntries, nil, .short(1024))
    let names = try read().names
    #expect(names == (0..<300).map { Array("file\($0)".utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
  }

  @Test func keepsTheEntriesBeforeAnError() throws {
    try fixture.emptyFiles((0..<300).map { "file\($0)" })
    calls.on(.readEntries, nil, .short(1024))
    calls.on(.readEntries, nil, turns: 3...3, .fail(EIO))
    let listing = try read()
    #expect(listing.error?.errno == EIO)
    #expect((1..<300).contains(listing.names.count))
  }
}
