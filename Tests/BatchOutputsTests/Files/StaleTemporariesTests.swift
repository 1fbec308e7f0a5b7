import CLinux
import Foundation
import Glibc
import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

@Suite struct StaleTemporariesTests {
  private let folder: TreeFixture

  init() throws {
    folder = try TreeFixture()
  }

  private func fileName(boot: UInt32 = TemporaryName.currentBoot) -> PathBytes {
    PathBytes(TemporaryName(boot: boot).bytes)
  }

  @Test("temporary files of an ended run are removed, and no other files")
  func dead() throws {
    let stale = [fileName(), fileName()].sorted()
    for name in stale { try folder.file(name, "half") }
    let foreign = [".batchproc-x.tmp", ".o.tar.tmp", "o.tar.partial", PathBytes("x\(fileName())")].sorted()
    for name in foreign { try folder.file(name, "keep") }
    let outcome = StaleTemporaries.remove(in: folder.root)
    #expect(Set(outcome.removed) == Set(stale.map(folder.path)))
    #expect(outcome.failures.isEmpty)
    #expect(folder.names() == foreign)
  }

  @Test("stale files in a folder that was opened with O_PATH are removed too")
  func place() throws {
    let name = fileName()
    try folder.file(name, "half")
    let number = folder.root.withCString { open($0, clinux_o_path | O_DIRECTORY | O_CLOEXEC) }
    try #require(number >= 0)
    let opened = try OpenFolder(Descriptor(owning: number), path: "x", calls: LinuxCalls())
    #expect(StaleTemporaries.remove(in: opened).removed == ["x/\(name)"].map { PathBytes($0) })
    #expect(folder.names().isEmpty)
  }

  @Test("a file that is being written is kept, and can be committed")
  func living() throws {
    let file = try AtomicFile(at: folder.path("out"), replacing: false)
    #expect(StaleTemporaries.remove(in: folder.root).removed.isEmpty)
    try file.commit(syncing: false)
    #expect(StaleTemporaries.remove(in: folder.root).removed.isEmpty)
    #expect(folder.names() == ["out"])
  }

  @Test("the files of this run are kept, also those that are closed and have no lock")
  func spared() throws {
    let opened = try OpenFolder(of: folder.path("x"))
    let area = StagingArea()
    let own = TemporaryName()
    #expect(area.add(own, in: opened) { 0 } == 0)
    try folder.file(PathBytes(own.bytes), "staged")
    try folder.file(fileName(), "half")
    #expect(StaleTemporaries.remove(in: opened, sparing: area).removed.count == 1)
    #expect(folder.names() == [PathBytes(own.bytes)])
  }

  @Test("a killed process leaves a stale file, which was not stale while the process ran")
  func killed() throws {
    let name = fileName()
    let locker = ["flock", "--no-fork", name.description, "sh", "-c", "echo locked; exec sleep 1000"]
    let process = try RunningProgram(locker.map { Array($0.utf8) }, in: folder.root)
    #expect(eventually { process.outputSoFar == Array("locked\n".utf8) })
    #expect(StaleTemporaries.remove(in: folder.root) == .init())
    #expect(folder.names() == [name])
    process.signal(SIGKILL)
    #expect(process.wait().ending == .signal(SIGKILL))
    #expect(StaleTemporaries.remove(in: folder.root).removed == [folder.path(name)])
    #expect(folder.names().isEmpty)
  }

  @Test("links and FIFOs with such a name are kept")
  func otherKinds() throws {
    let canary = try folder.file("canary", "keep")
    try #require(
      folder.path(fileName()).withCString { link in canary.withCString { symlink($0, link) } } == 0)
    try #require(folder.path(fileName()).withCString { mkfifo($0, 0o600) } == 0)
    let names = folder.names()
    #expect(StaleTemporaries.remove(in: folder.root).removed.isEmpty)
    #expect(folder.names() == names)
  }

  @Test("a private folder is kept while it is in use, and goes with its contents")
  func folders() throws {
    let parent = try FolderOpener(calls: LinuxCalls()).folder(named: folder.root)
    let own = try PrivateFolder(in: parent, area: StagingArea())
    let path = own.opened.path
    try folder.folder(PathBytes(path.lastComponent).appending("a/b".utf8))
    #expect(StaleTemporaries.remove(in: folder.root) == .init())
    #expect(try path.status(followingLinks: false).mode & 0o777 == 0o700)
    // A folder of a run that was killed has no lock.
    let stale = fileName()
    try folder.folder(stale.appending("a/b".utf8))
    try folder.file(stale.appending("a/f".utf8), "x")
    try folder.symbolicLink(stale.appending("link".utf8), to: folder.root)
    #expect(StaleTemporaries.remove(in: folder.root).removed == [folder.path(stale)])
    #expect(folder.names() == [PathBytes(path.lastComponent)])
    withExtendedLifetime(own) {}
  }

  @Test("an unlocked file of another machine is stale only when it is more than a day old")
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

  @Test("an old file of an earlier boot is removed")
  func earlierBoot() throws {
    let path = try folder.file(fileName(boot: ~TemporaryName.currentBoot), "half")
    let old = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
    try #require(path.withCString { utimensat(AT_FDCWD, $0, [old, old], 0) } == 0)
    #expect(StaleTemporaries.remove(in: folder.root).removed == [path])
  }

  @Test("a folder that cannot be read is reported as a failure, not thrown")
  func noFolder() {
    let outcome = StaleTemporaries.remove(in: "/nonexistent")
    #expect(outcome.removed.isEmpty)
    #expect(outcome.failures.map(\.code) == [.missing])
  }
}
