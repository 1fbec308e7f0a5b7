import BatchEngine
import Synchronization
import func Glibc.uname
import struct Glibc.utsname

/// How the outputs on each file system are brought to the disk.
///
/// One `syncfs(2)` serves all outputs of a batch. It reports a write error that came after its descriptor was opened,
/// so that one is opened before the first output of the run and stays open. Kernels before 5.8 and overlayfs report
/// none: there each output is synced by itself.
final class SyncDevices: Sendable {
  enum Way: Sendable {
    /// All at once, through this folder.
    case together(OpenFolder)
    case each
  }

  private let ways = Mutex<[UInt64: Way]>([:])
  /// How many folders may be kept open.
  private let limit: Int
  private let reportsErrors: Bool

  /// - Parameter release: of the kernel, as `uname -r` prints it.
  init(limit: Int, release: String = SyncDevices.kernelRelease) {
    self.limit = limit
    reportsErrors = Self.reportsErrors(release: release)
  }

  /// Takes note of a folder, before the first output is made in it.
  func note(_ folder: OpenFolder) {
    ways.withLock { ways in
      guard ways[folder.identity.device] == nil else { return }
      let isTogether = ways.count < limit && reportsErrors && !Self.isOverlay(folder)
      ways[folder.identity.device] = isTogether ? .together(folder) : .each
    }
  }

  /// How outputs in a folder are synced.
  func way(for folder: OpenFolder) -> Way {
    ways.withLock { $0[folder.identity.device] } ?? .each
  }

  /// Has all later outputs on a file system synced by themselves: `syncfs(2)` reports an error once, and outputs outside of the
  /// batch that got it may be damaged too.
  func distrust(_ folder: OpenFolder) {
    ways.withLock { $0[folder.identity.device] = .each }
  }

  /// Closes the folders that are kept.
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

  private static func isOverlay(_ folder: OpenFolder) -> Bool {
    // If unknown, it counts as an overlay: each output is synced.
    folder.isOverlay ?? true
  }
}
