import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct FileReaderTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws { fixture = try TreeFixture() }

  /// The record of a file that a walk would give, changed by `change`.
  private func record(_ name: PathBytes, change: (inout stat) -> Void = { _ in }) -> FileRecord {
    var raw = stat()
    _ = fixture.path(name).withCString { lstat($0, &raw) }
    change(&raw)
    let root = FileIdentity(device: UInt64(raw.st_dev), inode: 0)
    return FileRecord(
      directory: DirectoryPath(operand: fixture.root).identified(as: root),
      names: NameArena(name: name.bytes),
      nameOffset: 0, status: FileStatus(raw), followsLinks: false)
  }

  private func read(
    _ record: FileRecord, with reader: FileReader? = nil
  ) throws(BatchError) -> (content: [UInt8], outcome: ReadOutcome, restarts: Int) {
    let reader = reader ?? FileReader(calls: calls)
    var content = [UInt8]()
    var restarts = 0
    let outcome = try reader.read(record) { () throws(BatchError) in
      content = []
      restarts += 1
    } consume: { (piece) throws(BatchError) in
      content += piece
    }
    return (content, outcome, restarts)
  }

  private static let sizes = [
    0, 1, 4095, 4096, FileReader.bufferSize - 1, FileReader.bufferSize, FileReader.bufferSize + 1,
    3 * FileReader.bufferSize, Int(FileReader.overlapThreshold) - 1, Int(FileReader.overlapThreshold),
    Int(FileReader.overlapThreshold) + 1, 9 * OverlappedReader.bufferSize,
  ]

  /// The parts of the file that hold data.
  @Test("holes are passed on as zeros, and are not read", arguments: [0, 1, 2, 3, 4, 5, 6, 7])
  func holes(parts: Int) throws {
    let size = 24 << 20
    var expected = [UInt8](repeating: 0, count: size)
    try fixture.file("file", "")
    try fixture.truncate("file", to: size)
    let descriptor = fixture.path("file").withCString { open($0, O_WRONLY) }
    var data = 0
    // Two threads read the second part.
    for (part, range) in [0..<5000, (11 << 20)..<(20 << 20), (size - 3)..<size].enumerated()
    where parts & (1 << part) != 0 {
      let bytes = TreeFixture.content(range.count)
      // `replaceSubrange` is slow without optimization.
      expected.withUnsafeMutableBytes {
        UnsafeMutableRawBufferPointer(rebasing: $0[range]).copyBytes(from: bytes)
      }
      #expect(pwrite(descriptor, bytes, bytes.count, off_t(range.lowerBound)) == bytes.count)
      data += bytes.count
    }
    close(descriptor)
    let record = record("file")
    let result = try read(record)
    #expect(result.content.equals(expected) && result.outcome.isStable)
    #expect(calls.count(of: .read, "file") <= data / (256 << 10) + 8)
    let reader = FileReader(calls: calls)
    for range in [0..<size, (10 << 20)..<(21 << 20), 4000..<6000, (size - 10)..<size] {
      var bytes = [UInt8](repeating: 1, count: range.count)
      try bytes.withUnsafeMutableBytes {
        try reader.read(record, ranges: [UInt64(range.lowerBound)..<UInt64(range.upperBound)], into: $0)
      }
      #expect(bytes.equals(Array(expected[range])))
    }
  }

  @Test("a file with more holes than the limit is not read")
  func tooManyHoles() throws {
    try fixture.file("file", "")
    try fixture.truncate("file", to: 3 << 20)
    let record = record("file")
    #expect(try read(record, with: FileReader(calls: calls, mostHoles: 3 << 20)).content.count == 3 << 20)
    let error = try #require(throws: BatchError.self) {
      try read(record, with: FileReader(calls: calls, mostHoles: 2 << 20))
    }
    #expect(error.message == "has more than 2 MiB of holes, and is not read")
    #expect(error.code == .unreadable && error.remedy == .allowHoles && error.path == fixture.path("file"))
  }

  @Test(arguments: sizes) func readsAFileOfAnySize(size: Int) throws {
    try fixture.file("file", size: size)
    let result = try read(record("file"))
    #expect(result.content == TreeFixture.content(size))
    #expect(result.outcome.isStable)
    #expect(result.outcome.status.size == Int64(size))
    #expect(result.restarts == 1)
    #expect(fixture.openDescriptors == 0)
  }

  @Test(arguments: [10, FileReader.bufferSize + 10, Int(FileReader.overlapThreshold)])
  func continuesAfterShortReads(size: Int) throws {
    try fixture.file("file", size: size)
    calls.on(.read, "file", .short(size / 7 + 1))
    #expect(try read(record("file")).content == TreeFixture.content(size))
  }

  @Test func costsFourCallsForASmallFile() throws {
    for name in ["a", "b", "c"] { try fixture.file(PathBytes(name), "text") }
    let reader = FileReader(calls: calls)
    // The folder is opened once for all its files.
    let directory = record("a").directory
    for name in ["a", "b", "c"] {
      let file = record(PathBytes(name))
      let shared = FileRecord(
        directory: directory, names: NameArena(name: name.utf8), nameOffset: 0, status: file.status,
        followsLinks: false)
      _ = try read(shared, with: reader)
      #expect(calls.count(of: .open, PathBytes(name)) == 1)
      #expect(calls.count(of: .read, PathBytes(name)) == 1)
      #expect(calls.count(of: .status, PathBytes(name)) == 1)
    }
    #expect(calls.count(of: .open, PathBytes(fixture.root.lastComponent)) == 1)
    #expect(fixture.openDescriptors == 1)
    reader.closeFolder()
    #expect(fixture.openDescriptors == 0)
  }

  @Test(arguments: [0, 3, 1 << 20]) func readsTheWholeFileWhenTheWalkSawAnotherSize(size: Int) throws {
    try fixture.file("file", size: 500)
    let result = try read(record("file") { $0.st_size = off_t(size) })
    #expect(result.content == TreeFixture.content(500))
    #expect(result.outcome.isStable)
    #expect(result.outcome.status.size == 500)
  }

  @Test(arguments: [-1, -2, Int.min]) func readsAFileWhoseSizeIsImpossible(size: Int) throws {
    try fixture.file("file", size: 500)
    #expect(try read(record("file") { $0.st_size = off_t(size) }).content == TreeFixture.content(500))
  }

  @Test func readsFilesThatReportASizeOfZero() throws {
    var raw = stat()
    #expect(stat("/proc/version", &raw) == 0)
    let record = FileRecord(
      directory: DirectoryPath(ofFileOperand: "/proc/version"), names: NameArena(name: "version".utf8),
      nameOffset: 0, status: FileStatus(raw), followsLinks: true)
    #expect(record.status.size == 0)
    #expect(try read(record).content.starts(with: Array("Linux".utf8)))
  }

  @Test func readsFilesThatReportAGreaterSize() throws {
    try fixture.file("file", size: 500)
    // The files of /sys report a size of 4096.
    calls.on(.status, "file", .status { $0.st_size = 4096 })
    let result = try read(record("file") { $0.st_size = 4096 })
    #expect(result.content == TreeFixture.content(500))
    #expect(result.outcome.isStable)
  }

  @Test func ignoresTheTimesOfFilesThatTheKernelGenerates() throws {
    var raw = stat()
    #expect(stat("/proc/version", &raw) == 0)
    // The kernel gives a file of /sys a new time each time its attributes are read.
    let looks = Atomic<Int>(0)
    calls.on(.status, "version", .status { $0.st_mtim.tv_sec += looks.add(1, ordering: .relaxed).newValue })
    let made = FileRecord(
      directory: DirectoryPath(ofFileOperand: "/proc/version"), names: NameArena(name: "version".utf8),
      nameOffset: 0, status: FileStatus(raw), followsLinks: true)
    #expect(try read(made).outcome.isStable)
    try fixture.file("version", size: 500)
    let ordinary = try read(record("version"))
    #expect(!ordinary.outcome.isStable && !ordinary.outcome.becameShorter)
  }

  @Test func seesAnotherTimeWithTheSameSize() throws {
    try fixture.file("file", "same size")
    let listed = record("file")
    try fixture.file("file", "size same")
    try fixture.setModified("file", seconds: 77)
    let result = try read(listed)
    #expect(result.content == Array("size same".utf8))
    #expect(result.outcome.status.modified.seconds == 77)
  }

  @Test func acceptsAChangeOfLinksOrMode() throws {
    try fixture.file("file", "text")
    let listed = record("file")
    try fixture.hardLink("twin", to: "file")
    #expect(try read(listed).outcome.isStable)
    #expect(calls.count(of: .open, "file") == 1)
  }

  @Test(arguments: [ENOENT, ENOTDIR]) func reportsThatAFileIsGone(number: Int32) throws {
    try fixture.file("file", "text")
    calls.on(.open, "file", .fail(number))
    #expect { _ = try read(record("file")) } throws: {
      let error = $0 as? BatchError
      return error?.code == .vanished && error?.path == fixture.path("file")
    }
  }

  @Test func reportsThatItsFolderIsGone() throws {
    try fixture.file("folder/file", "text")
    let folder = DirectoryPath(operand: fixture.path("folder")).identified(
      as: FileIdentity(device: 1, inode: 1))
    let listed = FileRecord(
      directory: folder, names: NameArena(name: "file".utf8), nameOffset: 0,
      status: record("folder/file").status,
      followsLinks: false)
    try fixture.removeTree("folder")
    #expect { _ = try read(listed) } throws: { ($0 as? BatchError)?.code == .vanished }
  }

  @Test func namesTheFileWhenItsStatusCannotBeRead() throws {
    try fixture.file("file", "text")
    calls.on(.status, "file", .fail(EIO))
    #expect { _ = try read(record("file")) } throws: {
      let error = $0 as? BatchError
      return error?.code == .unreadable && error?.path == fixture.path("file") && error?.errno == EIO
    }
    #expect(fixture.openDescriptors == 0)
  }

  @Test(arguments: [100, FileReader.bufferSize + 1, Int(FileReader.overlapThreshold) + 1])
  func leavesNothingOpenWhenTheConsumerThrows(size: Int) throws {
    try fixture.file("file", size: size)
    let reader = FileReader(calls: calls)
    let full = BatchError(.exhausted, "full")
    for _ in 0..<3 {
      #expect {
        try reader.read(record("file"), restart: {}) { (_) throws(BatchError) in throw full }
      } throws: {
        ($0 as? BatchError)?.code == .exhausted
      }
    }
    reader.closeFolder()
    #expect(fixture.openDescriptors == 0)
    // The reader can be used again.
    #expect(try read(record("file"), with: reader).content == TreeFixture.content(size))
  }
}
