/// How deeply folders may be nested and how long their paths may be. A walk and an extraction have the same limits, so a tree
/// that can be walked can be extracted again.
public struct PathLimits: Sendable, Hashable {
  /// The limit that the path of a folder exceeds.
  package enum Excess: Sendable, Hashable {
    case levels(Int)
    case length(Int)

    package func error(at path: PathBytes) -> BatchError {
      switch self {
      case .levels(let most):
        BatchError(
          .invalid, "left out: folders may lie \(most) deep in one another at most", path: path,
          remedy: .raiseLevels)
      case .length(let most):
        BatchError(
          .invalid, "left out: the path of a folder may have \(most) bytes at most", path: path,
          remedy: .raiseLevels)
      }
    }
  }

  public static let defaultLevels = 4096
  public static let mostLevels = 1_000_000
  private static let bytesOfLevel = 16
  private static let slash = UInt8(ascii: "/")

  /// How many names the path of a folder may have.
  public let levels: Int
  /// How many bytes the path of a folder may have: 64 KiB, or 16 for each level if more than 4,096 levels are allowed.
  public let length: Int

  /// - Parameter levels: from 1 to ``mostLevels``; other numbers are clamped.
  public init(levels: Int = PathLimits.defaultLevels) {
    self.levels = min(max(1, levels), Self.mostLevels)
    length = max(Self.defaultLevels, self.levels) * Self.bytesOfLevel
  }

  /// How many names a path has; empty ones and `.` do not count.
  static func names(in path: ArraySlice<UInt8>) -> Int {
    var count = 0
    var start = path.startIndex
    for index in path.indices where path[index] == slash {
      if !isNothing(path[start..<index]) { count += 1 }
      start = index + 1
    }
    return isNothing(path[start...]) ? count : count + 1
  }

  private static func isNothing(_ name: ArraySlice<UInt8>) -> Bool {
    name.isEmpty || name.count == 1 && name.first == UInt8(ascii: ".")
  }

  /// The limit that a folder with this many names and bytes in its path exceeds; nil within the limits.
  func excess(levels: Int, length: Int) -> Excess? {
    if levels > self.levels { return .levels(self.levels) }
    return length > self.length ? .length(self.length) : nil
  }

  /// The first folder along a path, including its end, that exceeds a limit.
  ///
  /// - Parameter folder: names with single slashes between them.
  package func excess(of folder: ArraySlice<UInt8>) -> (folder: ArraySlice<UInt8>, excess: Excess)? {
    // More names than `levels` need at least this many bytes.
    guard folder.count > length || folder.count >= 2 * levels else { return nil }
    var names = 0
    var end = folder.startIndex
    while end < folder.endIndex {
      end = folder[end...].firstIndex(of: Self.slash) ?? folder.endIndex
      names += 1
      if let excess = excess(levels: names, length: end - folder.startIndex) {
        return (folder[..<end], excess)
      }
      end += 1
    }
    return nil
  }
}
