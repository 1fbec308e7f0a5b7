import BatchEngine
import Synchronization
import TestSupport
import Testing

@testable import BatchCore

/// Files of a remote that are fetched in parts.
@Suite struct RemoteFileTests {
  /// A remote with one file, which counts the fetched bytes.
  private final class OneFile: Remote {
    let place: PathBytes = "far:"
    let content: [UInt8]
    let fetched = Mutex<[Range<UInt64>]>([])

    init(_ content: [UInt8]) { self.content = content }

    func files() -> [PathBytes: UInt64] { [:] }
    let mostTransfers = 1
    func put(new names: [PathBytes], from folder: PathBytes) throws(BatchError) {}
    func put(_ file: PathBytes, as name: PathBytes, isNew: Bool) {}
    func fetch(_ names: [PathBytes], into folder: PathBytes) {}
    func digest(of name: PathBytes) -> Digest? { nil }
    func remove(_ name: PathBytes) {}

    func part(_ range: Range<UInt64>, of name: PathBytes) -> [UInt8] {
      fetched.withLock { $0.append(range) }
      return Array(content.dropFirst(Int(range.lowerBound)).prefix(range.count))
    }
  }

  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func open(_ remote: OneFile, size: UInt64) throws -> RemoteFile {
    let folder = try FolderOpener(calls: LinuxCalls()).folder(named: t.root)
    return try RemoteFile("set/a.tar.zst", size: size, at: remote, temporary: folder)
  }

  @Test("each unit is fetched once, and nothing beyond the end")
  func units() throws {
    let remote = OneFile(TreeFixture.content(3_500_000))
    let file = try open(remote, size: 3_500_000)
    for (offset, count) in [(3_499_990, 100), (0, 10), (5, 2_000_000), (3_400_000, 100_000), (4_000_000, 1)] {
      try file.fetch(at: UInt64(offset), count: count)
      let end = min(offset + count, remote.content.count)
      guard offset < end else { continue }
      var read = [UInt8](repeating: 0, count: end - offset)
      let filled = read.withUnsafeMutableBytes { LinuxCalls().read(file.raw, into: $0, at: offset) }
      #expect(filled == read.count && read.equals(Array(remote.content[offset..<end])))
    }
    let fetched = remote.fetched.withLock { $0.sorted { $0.lowerBound < $1.lowerBound } }
    #expect(zip(fetched, fetched.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
    #expect(fetched.last?.upperBound == 3_500_000)
  }

  @Test("a file that is shorter than its reported size, or impossibly large, is an error that names it")
  func sizes() throws {
    let remote = OneFile([1, 2, 3])
    expectError(.unreadable, at: "set/a.tar.zst") { try open(remote, size: 4).fetch(at: 0, count: 1) }
    for size in [UInt64(Int64.max) + 1, .max] {
      expectError(.malformed, at: "set/a.tar.zst") { try open(remote, size: size) }
    }
    expectError(.unreadable) {
      try open(remote, size: UInt64(Int64.max)).fetch(at: UInt64(Int64.max) - 1, count: 9)
    }
  }
}
