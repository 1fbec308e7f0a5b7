import BatchEngine
import Dispatch
import Synchronization

/// A file of a remote. Parts are fetched when they are read, each once, into an unnamed file in the directory for temporary
/// files.
///
/// May be read by several threads at once. The fetched parts are released with the last reference.
package final class RemoteFile: PartialFile {
  /// The size of a unit in bytes; whole units are fetched.
  private static let unitSize: UInt64 = 1 << 20

  package let path: PathBytes
  /// The size in bytes.
  package let size: UInt64
  private let remote: any Remote
  private let content: TemporaryFile
  private let units: Mutex<Units>

  /// - Parameters:
  ///   - path: for messages; its last name is the name of the file.
  ///   - folder: where the parts are stored.
  /// - Throws: `malformed` for an impossible size; the error of creating a file there.
  init(
    _ path: PathBytes, size: UInt64, at remote: any Remote, temporary folder: OpenFolder
  ) throws(BatchError) {
    guard Int64(exactly: size) != nil else {
      throw BatchError(.malformed, "has \(size) bytes at \(remote.place), which no file has", path: path)
    }
    self.path = path
    self.size = size
    self.remote = remote
    let area = StagingArea.shared
    if let file = try TemporaryFile.unnamed(in: folder, permissions: 0o600, area: area) {
      content = file
    } else {
      content = try TemporaryFile(in: folder, area: area)
    }
    let (whole, rest) = size.quotientAndRemainder(dividingBy: Self.unitSize)
    units = Mutex(Units(count: whole + (rest == 0 ? 0 : 1)))
  }

  /// The local file, which contains only the fetched parts of ``size``.
  var raw: Int32 { content.raw }

  /// - Throws: the error of the remote; `unwritable` if there is no space.
  func fetch(at offset: UInt64, count: Int) throws(BatchError) {
    guard offset < size, count > 0 else { return }
    let end = offset + min(UInt64(count), size - offset)
    var unit = offset / Self.unitSize
    let last = (end - 1) / Self.unitSize
    while unit <= last {
      switch units.withLock({ $0.step(at: unit, through: last) }) {
      case .present: unit += 1
      case .coming(let group): group.wait()
      case .missing(let range, let group):
        defer { group.leave() }
        do throws(BatchError) {
          try transfer(range)
        } catch {
          units.withLock { $0.end(range, isPresent: false) }
          throw error
        }
        units.withLock { $0.end(range, isPresent: true) }
        unit = range.upperBound
      }
    }
  }

  private func transfer(_ range: Range<UInt64>) throws(BatchError) {
    let start = range.lowerBound * Self.unitSize
    let end = min(range.upperBound * Self.unitSize, size)
    let bytes = try remote.part(start..<end, of: PathBytes(path.lastComponent))
    guard UInt64(bytes.count) == end - start else {
      throw BatchError(.unreadable, "has become shorter at \(remote.place)", path: path)
    }
    do throws(BatchError) {
      try withBytes(of: bytes) { (room) throws(BatchError) in try content.write(room, at: start) }
    } catch {
      guard error.isOutOfSpace else { throw error.at(path) }
      throw BatchError(
        .unwritable, "cannot be fetched: \(error.message)", path: path, errno: error.errno,
        remedy: .advice("set TMPDIR to a directory with more room"))
    }
  }
}

/// Which units of a file have been fetched.
private struct Units: Sendable {
  /// The most units of one request.
  private static let longest: UInt64 = 16

  enum Step {
    case present
    /// Another thread is fetching it.
    case coming(DispatchGroup)
    /// The caller must fetch these, and then leave the group.
    case missing(Range<UInt64>, DispatchGroup)
  }

  let count: UInt64
  private var present: Set<UInt64> = []
  private var coming: [UInt64: DispatchGroup] = [:]
  /// The unit after the last request.
  private var next: UInt64 = 0
  /// The length of the last request; it doubles while the file is read sequentially.
  private var length: UInt64 = 1

  init(count: UInt64) { self.count = count }

  mutating func step(at unit: UInt64, through last: UInt64) -> Step {
    if present.contains(unit) { return .present }
    if let group = coming[unit] { return .coming(group) }
    length = unit == next ? min(length * 2, Self.longest) : 1
    let limit = min(unit + max(length, min(last - unit + 1, Self.longest)), count)
    var end = unit + 1
    while end < limit, !present.contains(end), coming[end] == nil { end += 1 }
    let group = DispatchGroup()
    group.enter()
    for unit in unit..<end { coming[unit] = group }
    next = end
    return .missing(unit..<end, group)
  }

  mutating func end(_ range: Range<UInt64>, isPresent: Bool) {
    for unit in range {
      coming[unit] = nil
      if isPresent { present.insert(unit) }
    }
  }
}
