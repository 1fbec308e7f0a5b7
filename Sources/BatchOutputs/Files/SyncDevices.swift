import BatchEngine
import Synchronization
import func Glibc.uname
import struct Glibc.utsname

/// How the outputs on each file system are synced to the disk.
///
/// One `syncfs(2)` serves all outputs of a batch. It reports only write errors that occur after its descriptor was opened, so a
/// descriptor is opened before the first output and stays open. Kernels before 5.8 and overlayfs report no errors: there each
/// output is synced by itself.
final class SyncDevices: Sendable {
  enum Way: Sendable {
    /// All outputs at once, through this folder.
    case together(OpenFolder)
    case each
  }

  private let ways = Mutex<[UInt64: Way]>([:])
  private let limit: Int
  private let reportsErrors: Bool

  /// - Parameter release: the kernel release, as printed by `uname -r`.
  init(limit: Int, release: String = SyncDevices.kernelRelease) {
    self.limit = limit
    reportsErrors = Self.reportsErrors(release: release)
  }

  func knows(_ folder: OpenFolder) -> Bool { ways.withLock { $0[folder.identity.device] != nil } }

  /// Records a folder before the first output is written there.
  ///
  /// - Parameter canSync: whether the folder was opened in a way that allows to sync its file system.
  func note(_ folder: OpenFolder, canSync: Bool = true) {
    ways.withLock { ways in
      guard ways[folder.identity.device] == nil else { return }
      // If unknown, it counts as an overlay: each output is synced.
      let isTogether = canSync && ways.count < limit && reportsErrors && folder.isOverlay == false
      ways[folder.identity.device] = isTogether ? .together(folder) : .each
    }
  }

  func way(for folder: OpenFolder) -> Way {
    ways.withLock { $0[folder.identity.device] } ?? .each
  }

  /// Makes all later outputs on a file system be synced individually: `syncfs(2)` reports an error only once, and outputs of
  /// other batches may be damaged too.
  func distrust(_ folder: OpenFolder) {
    ways.withLock { $0[folder.identity.device] = .each }
  }

  func close() {
    ways.withLock { $0 = [:] }
  }

  static func reportsErrors(release: String) -> Bool {
    let numbers = release.split { !("0"..."9").contains($0) }.prefix(2).compactMap { Int($0) }
    guard let major = numbers.first else { return false }
    return major > 5 || (major == 5 && numbers.count > 1 && numbers[1] >= 8)
  }

  static let kernelRelease: String = {
    var names = utsname()
    guard uname(&names) == 0 else { return "" }
    return withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }()
}
