import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// The file that stays is compared again just before each link, because its folder may belong to another user.
@Suite struct HardLinkingTests {
  private let t: TreeFixture
  private let calls = FaultyCalls()

  init() throws {
    t = try TreeFixture()
    for name in ["a/kept", "b/copy", "c/copy"] as [PathBytes] {
      try t.file(name, "equal")
      try t.setModified(name, seconds: 1000)
    }
  }

  /// Links the copies of one group.
  ///
  /// - Parameter change: a change that happens after the comparison and before the first link.
  /// - Returns: the results of the copies, and the problems.
  private func link(
    descriptors: Int = 144, isSynced: Bool = true, after change: @escaping @Sendable () -> Void = {}
  ) throws -> (results: [LinkOutcome.Result], problems: [String]) {
    // The file system is synced after the comparison, once.
    calls.on(.syncFileSystem, nil, turns: 1...1, .before(change))
    let files = try (["a/kept", "b/copy", "c/copy"] as [PathBytes]).map {
      DuplicateFile(record: try t.record($0), furtherNames: [])
    }
    let group = DuplicateGroup(size: 5, digest: try Digest.sha256(of: Array("equal".utf8)), files: files)
    let (results, problems) = (Recorder<LinkOutcome.Result>(), ProblemRecorder())
    var options = BatchOptions()
    options.descriptors = descriptors
    let job = LinkJob(.hard, isDryRun: false, isSynced: isSynced) { results.record($0.result) }
    _ = BatchRunner(options: options, observer: problems, calls: calls).run(job, over: LinkSource([group]))
    return (results.values, problems.lines.values)
  }

  private func inode(_ name: PathBytes) throws -> UInt64 { try t.path(name).status().identity.inode }

  @Test(
    "copies become names of it, with many descriptors and with the fewest", arguments: [144, 16, 8, 4, 2])
  func linked(descriptors: Int) throws {
    let found = try link(descriptors: descriptors)
    #expect(found.results == [.linked, .linked] && found.problems.isEmpty)
    #expect(try inode("b/copy") == inode("a/kept") && inode("c/copy") == inode("a/kept"))
  }

  enum Change: CaseIterable { case owner, group, mode, attribute, time, replaced }

  @Test(
    "no copy is linked to it after its owner, group, mode, attributes or change time are others",
    .enabled(if: geteuid() == 0), arguments: Change.allCases, [144, 4])
  func changed(change: Change, descriptors: Int) throws {
    let path = t.path("a/kept")
    let found = try link(descriptors: descriptors) {
      _ = path.withCString { path in
        switch change {
        case .owner: chown(path, 1001, .max)
        case .group: chown(path, .max, 1001)
        case .mode: chmod(path, 0o666)
        case .attribute:
          LinuxCalls().setAttribute(Array("user.x".utf8), of: open(path, O_RDONLY | O_CLOEXEC), to: [1])
        // What happened between is unknown, although everything else is as before.
        case .time: chmod(path, 0o644)
        case .replaced: unlink(path) + close(open(path, O_CREAT | O_WRONLY, 0o644))
        }
      }
    }
    #expect(found.results.isEmpty)
    #expect(found.problems == ["warning changed kept", "warning changed kept"])
    #expect(try inode("b/copy") != inode("a/kept") && t.text("b/copy") == "equal")
  }

  @Test("a copy with another owner than the file it would be linked to stays", .enabled(if: geteuid() == 0))
  func copyOfAnotherUser() throws {
    let path = t.path("b/copy")
    let found = try link { _ = path.withCString { chown($0, 1001, 1001) } }
    #expect(found.results == [.linked] && found.problems == ["warning changed copy"])
    #expect(try t.path("b/copy").status().owner == 1001)
  }
}
