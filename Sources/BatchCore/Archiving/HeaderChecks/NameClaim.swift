import BatchEngine
import CArchive

/// The format that the suffix of an archive's name claims.
///
/// A file that begins with zeros reads as a tar without members. The suffix shows whether that is plausible: a lost first block
/// and a file that was never written look the same.
struct NameClaim {
  /// The suffix, for messages.
  private let name: String
  private let compression: CompressionFormat?
  private let container: ArchiveFormat.Container?

  /// - Returns: nil for a name without such a suffix; standard input has none.
  init?(of path: PathBytes) {
    if let format = ArchiveFormat(suffixOf: path) {
      (name, compression, container) = (format.name, format.compression, format.container)
      return
    }
    guard
      let compression = CompressionFormat.allCases.first(where: {
        path.bytes.suffix($0.suffix.utf8.count).elementsEqual($0.suffix.utf8)
      })
    else { return nil }
    (name, self.compression, container) = (compression.rawValue, compression, nil)
  }

  /// How the archive differs from its suffix; nil if it does not.
  ///
  /// - Parameters:
  ///   - compression: the recognized compression.
  ///   - base: libarchive's number for the format, without its dialect.
  func difference(_ compression: CompressionFormat?, _ base: Int32) -> String? {
    if self.compression == compression, container.map({ $0.isRead(as: base) }) ?? true { return nil }
    return "its name says that it is \(name), and its first bytes say something else"
  }
}

extension ArchiveFormat.Container {
  /// Whether libarchive uses this number for it.
  fileprivate func isRead(as base: Int32) -> Bool {
    switch self {
    case .tar: base == ARCHIVE_FORMAT_TAR
    case .cpio: base == ARCHIVE_FORMAT_CPIO
    case .zip: base == ARCHIVE_FORMAT_ZIP
    case .sevenZip: base == ARCHIVE_FORMAT_7ZIP
    }
  }
}
