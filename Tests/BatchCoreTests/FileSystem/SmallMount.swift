import Foundation
import Testing

@testable import BatchCore
@testable import BatchEngine

/// A tmpfs over a folder, for disks that are full or read-only.
struct SmallMount {
  /// Only root may mount, and not in every container.
  static let isPossible: Bool = {
    guard geteuid() == 0, let folder = try? TemporaryFolder(),
      let mount = try? SmallMount(at: folder, options: "size=64k")
    else { return false }
    mount.remove()
    return true
  }()

  private let folder: TemporaryFolder

  init(at folder: TemporaryFolder, options: String) throws {
    self.folder = folder
    try Self.run("mount", ["-t", "tmpfs", "-o", options, "none", folder.path.description])
  }

  func remove() {
    // Lazily: a descriptor that a failing test still holds must not keep the mount.
    try? Self.run("umount", ["-l", folder.path.description])
  }

  private static func run(_ command: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [command] + arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }
}
