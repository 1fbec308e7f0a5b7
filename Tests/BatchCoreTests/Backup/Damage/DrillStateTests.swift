import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// The results of drills that are stored between drills.
@Suite struct DrillStateTests {
  private static let archive = "20260101T000000Z"
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("damage of any number of files is remembered, also for names that are stored with escapes")
  func manyFiles() throws {
    let names = (0..<6000).map { PathBytes(Array("\u{1}\u{2}\u{3}\($0)".utf8)) }
    var state = DrillState()
    for name in names { state.note(name, in: Self.archive, isDamaged: true) }
    #expect(state.lines.count < 1 << 20)
    try t.file("state", state.lines)
    var read = try DrillState(t.path("state"))
    #expect(read.suspects == [Self.archive] && read.lines == state.lines)
    for name in names { read.note(name, in: Self.archive, isDamaged: false) }
    // There was no room for some of the names.
    #expect(read.suspects == [Self.archive])
    read.forget(Self.archive)
    #expect(read.suspects.isEmpty)
    for name in names { read.note(name, in: Self.archive, isDamaged: true) }
    #expect(read.lines == state.lines)
  }

  @Test("a state of more than a megabyte, which earlier versions could write, is read")
  func large() throws {
    let line = #"{"type":"suspect","archive":"\#(Self.archive)","path":"0"}"# + "\n"
    try t.file("state", Array(String(repeating: line, count: 19_000).utf8))
    #expect(try DrillState(t.path("state")).suspects == [Self.archive])
  }

  @Test("a missing state is empty, and one that cannot be read is an error")
  func unreadable() throws {
    #expect(try DrillState(t.path("none")).suspects.isEmpty)
    try t.file("state", #"{"type":"suspect","arch"#)
    // Damage of snapshots has another code.
    #expect { try DrillState(t.path("state")) } throws: { ($0 as? BatchError)?.code == .unreadable }
    try t.folder("folder")
    try t.fifo("pipe")
    try t.symbolicLink("link", to: "state")
    for name in ["folder", "pipe", "link"] as [PathBytes] {
      #expect { try DrillState(t.path(name)) } throws: { ($0 as? BatchError)?.code == .unreadable }
    }
  }
}
