import Foundation
import Glibc
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct StaleTemporariesTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func fileName(boot: UInt32 = TemporaryName.currentBoot) -> String {
    String(decoding: TemporaryName(boot: boot).bytes, as: UTF8.self)
  }

  @Test("what a dead run left is removed, and nothing else")
  func dead() throws {
    let stale = [fileName(), fileName()].sorted()
    for name in stale { _ = try folder.write(name, "half") }
    let foreign = [".batchproc-x.tmp", ".o.tar.tmp", "o.tar.partial", "x" + fileName()].sorted()
    for name in foreign { _ = try folder.write(name, "keep") }
    let outcome = StaleTemporaries.remove(in: folder.path)
    #expect(Set(outcome.removed) == Set(stale.map(folder.file)))
    #expect(outcome.failures.isEmpty)
    #expect(try folder.names() == foreign)
  }

  @Test("a folder that is open as a place is cleared too")
  func place() throws {
    let name = fileName()
    _ = try folder.write(name, "half")
    let opened = folder.path.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    try #require(opened >= 0)
    defer { close(opened) }
    #expect(StaleTemporaries.remove(in: opened, path: "x").removed == ["x/\(name)"].map { PathBytes($0) })
    #expect(try folder.names().isEmpty)
  }

  @Test("a file that is being written is left alone, then committed")
  func living() throws {
    let file = try AtomicFile(at: folder.file("out"), replacing: false)
    #expect(StaleTemporaries.remove(in: folder.path).removed.isEmpty)
    try file.commit(syncing: false)
    #expect(StaleTemporaries.remove(in: folder.path).removed.isEmpty)
    #expect(try folder.names() == ["out"])
  }

  @Test("a process that is killed leaves a stale file; while it lives its file is not")
  func killed() throws {
    let name = fileName()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "flock", "--no-fork", folder.file(name).description, "sh", "-c", "echo locked; exec sleep 1000",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    #expect(output.fileHandleForReading.availableData == Data("locked\n".utf8))
    #expect(StaleTemporaries.remove(in: folder.path) == .init())
    #expect(try folder.names() == [name])
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    #expect(StaleTemporaries.remove(in: folder.path).removed == [folder.file(name)])
    #expect(try folder.names().isEmpty)
  }

  @Test("links, FIFOs and folders with such a name are not ours")
  func otherKinds() throws {
    let canary = try folder.write("canary", "keep")
    try #require(
      folder.file(fileName()).withCString { link in canary.withCString { symlink($0, link) } } == 0)
    try #require(folder.file(fileName()).withCString { mkfifo($0, 0o600) } == 0)
    let names = try folder.names()
    #expect(StaleTemporaries.remove(in: folder.path).removed.isEmpty)
    #expect(try folder.names() == names)
    try folder.makeFolder(fileName())
    #expect(StaleTemporaries.remove(in: folder.path).removed.isEmpty)
    #expect(try folder.names().count == 4)
  }

  @Test("a free lock proves nothing about a file of another machine until it is a day old")
  func otherBoot() {
    let ours = TemporaryName(boot: 1)
    let other = TemporaryName(boot: 2)
    let unknown = TemporaryName(boot: 0)
    #expect(StaleTemporaries.isStale(ours, age: 0, isShared: true, boot: 1))
    #expect(StaleTemporaries.isStale(other, age: 0, isShared: false, boot: 1))
    #expect(!StaleTemporaries.isStale(other, age: 86_400, isShared: true, boot: 1))
    #expect(!StaleTemporaries.isStale(other, age: -5, isShared: true, boot: 1))
    #expect(StaleTemporaries.isStale(other, age: 86_401, isShared: true, boot: 1))
    #expect(!StaleTemporaries.isStale(unknown, age: 0, isShared: true, boot: 0))
  }

  @Test("a file of an earlier boot goes once it is old")
  func earlierBoot() throws {
    let path = try folder.write(fileName(boot: ~TemporaryName.currentBoot), "half")
    let old = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
    try #require(path.withCString { utimensat(AT_FDCWD, $0, [old, old], 0) } == 0)
    #expect(StaleTemporaries.remove(in: folder.path).removed == [path])
  }

  @Test("a folder that cannot be read is a failure to report, not to stop for")
  func noFolder() {
    let outcome = StaleTemporaries.remove(in: "/nonexistent")
    #expect(outcome.removed.isEmpty)
    #expect(outcome.failures.map(\.code) == [.missing])
  }
}
