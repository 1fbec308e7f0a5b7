import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("The decision about an output")
struct OutputDecisionTests {
  private let fixture: TreeFixture
  private let source: FileRecord

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("a", "content")
    try fixture.setModified("a", seconds: 1000)
    source = try fixture.record("a")
  }

  private func decide(
    _ direction: OutputNaming.Direction = .adding(suffix: ".gz"), target: PathBytes = "a.gz",
    _ change: (inout OutputOptions) -> Void = { _ in }
  ) -> OutputDecision {
    var options = OutputOptions(naming: OutputNaming(direction, directory: nil))
    change(&options)
    let calls = LinuxCalls()
    let folder = try? OpenFolder(of: fixture.path(target), calls: calls)
    return .of(fixture.path(target), for: source, options, in: folder, calls: calls)
  }

  private func reason(_ decision: OutputDecision) -> String? {
    if case .refused(let error) = decision { error.message } else { nil }
  }

  @Test("is to write when its name is free")
  func nothing() {
    #expect(decide() == .write(isReplacing: false))
    #expect(decide { $0.replacing = .always } == .write(isReplacing: false))
    #expect(decide(target: "a/b") == .write(isReplacing: false))
  }

  @Test("is that it is up to date when it has the time of the source")
  func sameTime() throws {
    try fixture.file("a.gz", "anything")
    try fixture.setModified("a.gz", seconds: 1000)
    let output = try #require(fixture.status("a.gz")?.identity)
    #expect(decide() == .upToDate(output))
    #expect(decide { $0.removesSource = true } == .compare(output))
    #expect(decide { $0.replacing = .always } == .write(isReplacing: true))
    #expect(!decide { $0.removesSource = true }.isReplacing)
    #expect(!decide().isReplacing)
  }

  private static let mark = "user.batchproc.source"

  @Test(
    "is to replace an older output only if its mark says that its source was kept",
    arguments: [nil, "kept", "removed", "other"])
  func marks(mark: String?) throws {
    try fixture.file("a.gz", CompressionFormat.gz.compressed([1, 2]))
    if let mark { try fixture.setAttribute(Self.mark, of: "a.gz", to: mark) }
    try fixture.setModified("a.gz", seconds: 999)
    let removed = "may be the only copy of a source that was removed, and is kept"
    let unknown = "is not known to be made from a source that was kept, and is kept itself"
    #expect(reason(decide()) == (mark == "kept" ? nil : mark == "removed" ? removed : unknown))
    #expect((decide() == .write(isReplacing: true)) == (mark == "kept"))
    #expect(decide { $0.replacesUnmarked = true } == .write(isReplacing: true))
    #expect(decide { $0.replacing = .always } == .write(isReplacing: true))
    #expect(reason(decide { $0.replacing = .never }) == "exists already and is kept")
    // With the removal of sources none is replaced, whatever its mark says.
    let kept = "exists already and is kept, because no output is replaced when sources are removed"
    #expect(reason(decide { $0.removesSource = true }) == kept)
    #expect(reason(decide { ($0.removesSource, $0.replacesUnmarked) = (true, true) }) == kept)
    #expect(
      decide { ($0.removesSource, $0.replacing) = (true, .always) } == .write(isReplacing: true))
    #expect(decide(.decompressing) { $0.removesSource = true } == .write(isReplacing: true))
  }

  @Test("is to refuse any older file that is not an output", arguments: ["", "mine", "\u{1F}"])
  func foreign(content: String) throws {
    try fixture.file("a.gz", content)
    try fixture.setAttribute(Self.mark, of: "a.gz", to: "kept")
    try fixture.setModified("a.gz", seconds: 999)
    #expect(reason(decide()) == "is in the way of the output: it is not compressed")
    #expect(
      reason(decide { $0.replacesUnmarked = true }) == "is in the way of the output: it is not compressed")
    #expect(decide { $0.replacing = .always } == .write(isReplacing: true))
    // A decompressed output may have any content.
    #expect(decide(.decompressing) == .write(isReplacing: true))
  }

  @Test("is to refuse a newer file that is not an output, and one that has the time of the source by chance")
  func foreignWithNewTime() throws {
    try fixture.file("a.gz", "mine")
    #expect(reason(decide()) == "is in the way of the output: it is not compressed")
    try fixture.setModified("a.gz", seconds: 1000)
    #expect(fixture.status("a.gz")?.statusChanged != fixture.status("a.gz")?.modified)
    // Nothing but its time says that it is an output, and each such file is not opened.
    guard case .upToDate = decide() else {
      Issue.record("\(decide())")
      return
    }
    let calls = FaultyCalls()
    calls.on(
      .entry, "a.gz",
      .status {
        ($0.st_mtim, $0.st_ctim) = (timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0))
      })
    let options = OutputOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
    #expect(
      reason(.of(fixture.path("a.gz"), for: source, options, calls: calls))
        == "is in the way of the output: it is not compressed")
  }

  @Test("about a copy is to keep what may be the only output of a removed source", arguments: ["b", "b.gz"])
  func copies(name: String) throws {
    let target = PathBytes("o/\(name)")
    for path in [PathBytes(name), target] {
      try fixture.file(path, CompressionFormat.gz.compressed([1, 2]))
      try fixture.setModified(path, seconds: 1000)
    }
    let source = try fixture.record(PathBytes(name))
    let output = try #require(fixture.status(target)?.identity)
    var options = OutputOptions(
      naming: OutputNaming(.adding(suffix: ".gz"), directory: fixture.path("o")))
    func decide() -> OutputDecision {
      .of(fixture.path(target), for: source, options, calls: LinuxCalls())
    }
    // A copied source is never removed, so its copy need not be written again.
    for removes in [true, false] {
      options.removesSource = removes
      try fixture.setModified(target, seconds: 1000)
      #expect(decide() == .upToDate(output))
      try fixture.setModified(target, seconds: 999)
      for mark in ["removed", "other"] {
        try fixture.setAttribute(Self.mark, of: target, to: mark)
        #expect(reason(decide())?.contains("kept") == true)
      }
      options.replacesUnmarked = true
      #expect(decide() == .write(isReplacing: true))
      options.replacesUnmarked = false
      try fixture.setAttribute(Self.mark, of: target, to: "kept")
      #expect(decide() == .write(isReplacing: true))
    }
  }

  @Test("is to refuse a newer file, unless forced")
  func newer() throws {
    try fixture.file("a.gz", CompressionFormat.gz.compressed([1, 2]))
    try fixture.setModified("a.gz", seconds: 1001)
    #expect(reason(decide()) == "is newer than its source and stays")
    #expect(reason(decide { $0.removesSource = true }) == "is newer than its source and stays")
    #expect(decide { $0.replacing = .always } == .write(isReplacing: true))
  }

  @Test("is to refuse anything but a regular file, unless forced")
  func otherKinds() throws {
    try fixture.folder("folder")
    try fixture.fifo("fifo")
    try fixture.symbolicLink("link", to: "nowhere")
    for (name, kind) in [("folder", "a directory"), ("fifo", "a FIFO"), ("link", "a symbolic link")] {
      #expect(reason(decide(target: PathBytes(name))) == "is in the way of the output: it is \(kind)")
    }
  }

  @Test("is to refuse when the output is the source itself, also when forced")
  func itself() throws {
    try fixture.hardLink("a.gz", to: "a")
    #expect(reason(decide()) == "is its own output")
    #expect(reason(decide { $0.replacing = .always }) == "is its own output")
  }

  @Test("compares times to the nanosecond")
  func times() {
    let moments: [(Int64, Int32)] = [(-1, 999_999_999), (0, 0), (0, 1), (1, 0)]
    for (place, (seconds, nanoseconds)) in moments.enumerated() {
      let moment = FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
      for (otherPlace, (seconds, nanoseconds)) in moments.enumerated() {
        let other = FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
        #expect((moment < other) == (place < otherPlace))
      }
    }
  }
}
