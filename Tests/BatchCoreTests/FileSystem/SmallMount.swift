import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// A tmpfs over a folder, for disks that are full or read-only.
struct SmallMount {
  /// Only root may mount, and not in every container.
  static let isPossible: Bool = {
    guard geteuid() == 0, let folder = try? TreeFixture(),
      let mount = try? SmallMount(at: folder, options: "size=64k")
    else { return false }
    mount.remove()
    return true
  }()

  private let folder: TreeFixture

  init(at folder: TreeFixture, options: PathBytes) throws {
    self.folder = folder
    try Self.run("mount", ["-t", "tmpfs", "-o", options, "none", folder.root])
  }

  func remove() {
    // Lazily: a descriptor that a failing test still holds must not keep the mount.
    try? Self.run("umount", ["-l", folder.root])
  }

  private static func run(_ command: PathBytes, _ arguments: [PathBytes]) throws {
    try #require(try Outcome(of: [command] + arguments).status == 0)
  }
}
