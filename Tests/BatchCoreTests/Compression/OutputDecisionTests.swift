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
    #expect(decide { $0.removesSource = true } == .rewrite)
    #expect(decide { $0.replacing = .always } == .write(isReplacing: true))
    #expect(decide { $0.removesSource = true }.isReplacing)
    #expect(!decide().isReplacing)
  }

  @Test("is to replace an older output, and to refuse any other older file")
  func older() throws {
    try fixture.file("a.gz", CompressionFormat.gz.compressed([1, 2]))
    try fixture.setModified("a.gz", seconds: 999)
    #expect(decide() == .write(isReplacing: true))
    for content in ["", "mine", "\u{1F}"] {
      try fixture.file("a.gz", content)
      try fixture.setModified("a.gz", seconds: 999)
      #expect(reason(decide()) == "is in the way of the output: it is not compressed")
      #expect(decide { $0.replacing = .always } == .write(isReplacing: true))
      // A decompressed output may have any content.
      #expect(decide(.decompressing) == .write(isReplacing: true))
    }
  }

  @Test("about a copy is to keep what may be the only output of a removed source")
  func copies() throws {
    for name in ["b", "b.gz"] {
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
      options.removesSource = true
      // A copied source is never removed, so its copy need not be written again.
      #expect(decide() == .upToDate(output))
      try fixture.setModified(target, seconds: 999)
      let kept = "may be the output of a removed source and is kept"
      #expect(reason(decide()) == (name == "b" ? nil : kept))
      options.replacing = .always
      #expect(decide() == .write(isReplacing: true))
      options.replacing = .older
      options.removesSource = false
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
