import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A recorded path")
struct RecordedPathTests {
  private func member(
    seconds: Int64, nanoseconds: Int32, attributes: [ExtendedAttribute] = []
  ) -> RecordedPath {
    let time = FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
    let entry = ArchiveEntry(path: "f", kind: .file, modified: time, attributes: attributes)
    return RecordedPath(entry, nil, hasOwner: true)
  }

  private func indexed(seconds: Int64, nanoseconds: Int32, _ entry: ArchiveEntry? = nil) -> RecordedPath {
    let time = FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
    return RecordedPath(
      ArchivedMember(path: "f", kind: .file, size: 0, modified: time), entry)
  }

  /// The time of a file, and whether a record without and with an index has it.
  private static let times: [(archived: Int32, live: Int32, isSame: Bool, isSameByIndex: Bool)] = [
    (0, 0, true, true), (5, 5, true, true), (0, 123_456_789, true, false),
    (123_456_700, 123_456_789, true, false), (123_456_000, 123_456_789, false, false),
    (123_456_788, 123_456_789, false, false), (123_456_789, 123_456_700, false, false),
  ]

  @Test("has a time with the precision of its archive", arguments: times.indices)
  func precision(number: Int) {
    let time = Self.times[number]
    let live = FileStatus.Time(seconds: 9, nanoseconds: time.live)
    #expect(member(seconds: 9, nanoseconds: time.archived).hasTime(live) == time.isSame)
    #expect(indexed(seconds: 9, nanoseconds: time.archived).hasTime(live) == time.isSameByIndex)
    #expect(!member(seconds: 8, nanoseconds: time.archived).hasTime(live))
    #expect(!indexed(seconds: 10, nanoseconds: time.archived).hasTime(live))
  }

  @Test("has no fraction in the last second before 1970")
  func lastSecond() {
    let live = FileStatus.Time(seconds: -1, nanoseconds: 500_000_000)
    #expect(indexed(seconds: -1, nanoseconds: 0).hasTime(live))
    #expect(!indexed(seconds: -2, nanoseconds: 0).hasTime(live))
  }

  @Test("has attributes when the member has some, or when there is an index")
  func attributes() {
    #expect(member(seconds: 0, nanoseconds: 0).attributes == nil)
    let note = ExtendedAttribute(name: Array("user.note".utf8), value: [])
    #expect(member(seconds: 0, nanoseconds: 0, attributes: [note]).attributes == [note])
    #expect(
      indexed(seconds: 0, nanoseconds: 0, ArchiveEntry(path: "f", kind: .file)).attributes?.isEmpty == true)
  }
}
