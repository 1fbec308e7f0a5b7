import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

@testable import BatchCore

@Suite struct TemporaryFolderTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes nested folders with files in each.
  private func nest(_ depth: Int, in folder: PathBytes) {
    let start = open(".", O_RDONLY | O_DIRECTORY)
    defer {
      fchdir(start)
      close(start)
    }
    guard folder.withCString({ chdir($0) }) == 0 else { return }
    for level in 0..<depth {
      close(creat("f", 0o600))
      // Names like those that the removal gives to moved folders must not be in its way.
      mkdir(".moved-\(level % 7)", 0o500)
      close(creat(".moved-\(level % 5 + 7)", 0))
      symlink("/", "link")
      mkdir("d", 0o700)
      chdir("d")
    }
  }

  @Test("is removed at any depth, with few descriptors", arguments: [0, 1, 3, 5000]) func deep(_ depth: Int)
    throws
  {
    let folder = try TemporaryFolder(in: t.root, for: "test", calls: LinuxCalls())
    nest(depth, in: folder.path)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let before = limit
    // Other tests may have left gaps among the descriptor numbers.
    let free = (0..<4).map { _ in open("/dev/null", O_RDONLY) }
    for number in free { close(number) }
    limit.rlim_cur = rlim_t(try #require(free.max())) + 1
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    defer {
      var before = before
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
    }
    try folder.remove()
    #expect(t.names(in: ".").isEmpty)
  }
}
