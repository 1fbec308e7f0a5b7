import BatchEngine
import Glibc
import Testing

/// A tmpfs mounted over a folder, as a disk that is full or read-only.
package struct SmallMount {
  /// Only root may mount, and not in each container.
  package static let isPossible: Bool = {
    guard geteuid() == 0, let folder = try? TreeFixture(),
      let mount = try? SmallMount(at: folder, options: "size=64k")
    else { return false }
    mount.remove()
    return true
  }()

  private let folder: TreeFixture

  package init(at folder: TreeFixture, options: PathBytes) throws {
    self.folder = folder
    try Self.run("mount", ["-t", "tmpfs", "-o", options, "none", folder.root])
  }

  package func remove() {
    // Lazily, since a failing test may still hold a descriptor in the mount.
    try? Self.run("umount", ["-l", folder.root])
  }

  private static func run(_ command: PathBytes, _ arguments: [PathBytes]) throws {
    try #require(try Outcome(of: [command] + arguments).status == 0)
  }
}
