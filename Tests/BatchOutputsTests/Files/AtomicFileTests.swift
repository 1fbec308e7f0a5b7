import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

extension AtomicFile {
  fileprivate func write(_ text: String) throws(BatchError) {
    let bytes = Array(text.utf8)
    try write(bytes.span)
  }
}

private func status(_ path: PathBytes) -> FileStatus? {
  var raw = stat()
  return path.withCString { lstat($0, &raw) } == 0 ? FileStatus(raw) : nil
}

@Suite struct AtomicFileTests {
  private let folder: TreeFixture
  private let target: PathBytes

  init() throws {
    folder = try TreeFixture()
    target = folder.path("out")
  }

  private func write(_ text: String, to target: PathBytes, replacing: Bool = false) throws(BatchError) {
    let file = try AtomicFile(at: target, replacing: replacing)
    try file.write(text)
    try file.commit(syncing: false)
  }

  @Test("a size that cannot be read is an error, and not 0")
  func size() throws {
    let calls = FaultyCalls()
    let file = try AtomicFile(at: target, replacing: false, calls: calls)
    try file.write("one")
    #expect(try file.size() == 3)
    calls.on(.status, nil, .fail(EIO))
    expectError(.unwritable) { try file.size() }
    file.discard()
  }

  // MARK: The name appears at the commit

  @Test("the target appears complete at the commit, and no other file is left", arguments: [false, true])
  func commits(syncing: Bool) throws {
    let file = try AtomicFile(at: target, replacing: false)
    try file.write("one ")
    try file.write("")
    try file.write("two")
    #expect(folder.names().count == 1)
    #expect(status(target) == nil)
    try file.commit(syncing: syncing)
    #expect(folder.text("out") == "one two")
    #expect(folder.names() == ["out"])
  }

  @Test("only the owner may read it while it is written")
  func isPrivate() throws {
    let file = try AtomicFile(at: target, replacing: false)
    let temporary = try #require(folder.names().first)
    #expect(try #require(status(folder.path(temporary))).mode & 0o777 == 0o600)
    file.discard()
  }

  @Test("a file that is not committed leaves neither target nor temporary file")
  func letGo() throws {
    do {
      let file = try AtomicFile(at: target, replacing: false)
      try file.write("lost")
    }
    #expect(folder.names().isEmpty)
    let file = try AtomicFile(at: target, replacing: false)
    file.discard()
    #expect(folder.names().isEmpty)
  }

  @Test("a committed file refuses further writes")
  func closed() throws {
    let file = try AtomicFile(at: target, replacing: false)
    try file.commit(syncing: false)
    file.discard()
    expectError(.invalid) { try file.write("late") }
    expectError(.invalid) { try file.commit() }
    #expect(folder.text("out") == "")
  }

  @Test("a name may be as long as the file system allows")
  func longName() throws {
    let name = PathBytes([UInt8](repeating: UInt8(ascii: "n"), count: 255))
    try write("x", to: folder.path(name))
    #expect(folder.names() == [name])
    let error = try #require(throws: BatchError.self) {
      try write("x", to: folder.path(PathBytes(name.bytes + [UInt8(ascii: "n")])))
    }
    #expect(error.code == .invalid)
    #expect(folder.names() == [name])
  }

  // MARK: The name exists already

  @Test("an existing file is kept unless it may be replaced")
  func existing() throws {
    try folder.file("out", "old")
    let error = try #require(throws: BatchError.self) { try write("new", to: target) }
    #expect(error.code == .invalid)
    #expect(folder.text("out") == "old")
    try write("new", to: target, replacing: true)
    #expect(folder.text("out") == "new")
    #expect(folder.names() == ["out"])
  }

  @Test("a symbolic link with the name is not followed", arguments: ["canary", "nowhere"])
  func symbolicLink(destination: String) throws {
    try folder.file("canary", "keep")
    try #require(target.withCString { symlink(destination, $0) } == 0)
    let error = try #require(throws: BatchError.self) { try write("new", to: target) }
    #expect(error.code == .invalid)
    try write("new", to: target, replacing: true)
    #expect(folder.text("canary") == "keep")
    #expect(status(target)?.kind == .regular)
    #expect(folder.names() == ["canary", "out"])
  }

  @Test("another name of a replaced file keeps the old content")
  func hardLink() throws {
    let canary = try folder.file("canary", "keep")
    try #require(canary.withCString { old in target.withCString { link(old, $0) } } == 0)
    try write("new", to: target, replacing: true)
    #expect(folder.text("canary") == "keep")
  }

  @Test("folders, FIFOs and devices are never replaced")
  func special() throws {
    try folder.folder("out")
    try #require(folder.path("fifo").withCString { mkfifo($0, 0o600) } == 0)
    let device = try #require(status("/dev/null"))
    for target in [target, folder.path("fifo"), "/dev/null", "/dev/full"] as [PathBytes] {
      for replacing in [false, true] {
        let error = try #require(throws: BatchError.self) { try AtomicFile(at: target, replacing: replacing) }
        #expect(error.code == .invalid)
        #expect(error.path == target)
      }
    }
    #expect(status("/dev/null")?.identity == device.identity)
    #expect(status("/dev/null")?.mode == device.mode)
    #expect(folder.names() == ["fifo", "out"])
  }

  @Test("a file that takes the name before the commit is kept", arguments: [false, true])
  func lateComer(isDirectory: Bool) throws {
    let file = try AtomicFile(at: target, replacing: isDirectory)
    if isDirectory { try folder.folder("out") } else { try folder.file("out", "first") }
    let error = try #require(throws: BatchError.self) { try file.commit(syncing: false) }
    #expect(error.code == .invalid)
    #expect(status(target)?.kind == (isDirectory ? .directory : .regular))
    #expect(folder.names() == ["out"])
  }

  @Test("of five writers that replace one target, each writes a complete file and the last one stays")
  func concurrentReplacing() throws {
    let failures = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 5) { index in
      let text = String(repeating: String(index), count: 300_000)
      do { try write(text, to: target, replacing: true) } catch { failures.withLock { $0 += 1 } }
    }
    #expect(failures.withLock { $0 } == 0)
    let content = try #require(folder.text("out"))
    #expect(content.utf8.count == 300_000)
    #expect(Set(content.utf8).count == 1)
    #expect(folder.names() == ["out"])
  }

  @Test("of five writers that may not replace, one succeeds and the others report the existing file")
  func concurrentFirst() throws {
    let codes = Mutex([BatchError.Code]())
    let files = try (0..<5).map { _ in try AtomicFile(at: target, replacing: false) }
    DispatchQueue.concurrentPerform(iterations: 5) { index in
      do throws(BatchError) {
        try files[index].write(String(index))
        try files[index].commit(syncing: false)
      } catch {
        codes.withLock { $0.append(error.code) }
      }
    }
    #expect(codes.withLock { $0 } == [.invalid, .invalid, .invalid, .invalid])
    #expect(folder.names() == ["out"])
  }

  // MARK: Outputs that cannot be written

  @Test(
    "a path that is not a file name is refused", arguments: ["", "/", ".", "..", "a/", "a/.", "a/..", "a\0b"])
  func notAName(path: String) throws {
    let error = try #require(throws: BatchError.self) { try AtomicFile(at: PathBytes(path), replacing: true) }
    #expect(error.code == .invalid)
    #expect(error.path == PathBytes(path))
  }

  @Test("a missing folder, or a file in its place, makes the output unwritable")
  func noFolder() throws {
    try folder.file("file", "")
    for name: PathBytes in ["missing/out", "file/out"] {
      let error = try #require(throws: BatchError.self) { try write("x", to: folder.path(name)) }
      #expect(error.code == .unwritable)
      #expect(error.path == folder.path(name))
    }
  }

  @Test(
    "errors that prevent the output have the class unwritable",
    arguments: [ENOSPC, EDQUOT, EIO, EROFS, EACCES, EPERM, ENOENT, EFBIG, EXDEV])
  func unwritable(number: Int32) {
    let error = BatchError.output("write", errno: number, path: "t/out")
    #expect(error.code == .unwritable)
    #expect(error.errno == number)
    #expect(error.path == "t/out")
  }

  @Test("errors about limits of the machine keep their class", arguments: [EMFILE, ENFILE, ENOMEM])
  func exhausted(number: Int32) {
    #expect(BatchError.output("create", errno: number).code == .exhausted)
  }

  @Test(
    "a full disk leaves no temporary file, and the old target is kept", .enabled(if: SmallMount.isPossible))
  func fullDisk() throws {
    let mount = try SmallMount(at: folder, options: "size=64k")
    defer { mount.remove() }
    try folder.file("out", "old")
    let file = try AtomicFile(at: target, replacing: true)
    let error = try #require(throws: BatchError.self) {
      for _ in 0..<100 { try file.write(String(repeating: "x", count: 4_096)) }
    }
    #expect(error.code == .unwritable)
    #expect(error.errno == ENOSPC)
    #expect(error.path == target)
    #expect(folder.names() == ["out"])
    #expect(folder.text("out") == "old")
    expectError(.invalid) { try file.commit() }
  }

  @Test("a read-only file system is reported before any byte is written", .enabled(if: SmallMount.isPossible))
  func readOnly() throws {
    let mount = try SmallMount(at: folder, options: "size=64k,ro")
    defer { mount.remove() }
    let error = try #require(throws: BatchError.self) { try AtomicFile(at: target, replacing: false) }
    #expect(error.code == .unwritable)
    #expect(error.errno == EROFS)
    #expect(error.path == target)
  }

  // MARK: A run that is stopped

  @Test("closing the area removes the unfinished files and refuses new ones")
  func stopped() throws {
    let area = StagingArea()
    let written = try AtomicFile(at: target, replacing: true, area: area)
    try written.write("half")
    let done = try AtomicFile(at: folder.path("done"), replacing: true, area: area)
    try done.commit(syncing: false)
    let gone = try AtomicFile(at: target, replacing: true, area: area)
    gone.discard()
    area.removeAll()
    #expect(folder.names() == ["done"])
    expectError(.cancelled) { try written.commit() }
    let error = try #require(throws: BatchError.self) {
      try AtomicFile(at: target, replacing: true, area: area)
    }
    #expect(error.code == .cancelled)
    #expect(folder.names() == ["done"])
  }
}
