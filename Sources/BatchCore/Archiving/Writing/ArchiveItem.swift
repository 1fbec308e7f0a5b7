import BatchEngine

/// One item of a run that archives.
package enum ArchiveItem: Sendable {
  /// A file that one operation archives, or an entry without content; with its data ranges, if known.
  case member(FileRecord, dataMap: [Range<UInt64>]?)
  /// A further name of an earlier file.
  case link(FileRecord, first: PathBytes)
  /// The header of a file whose blocks all lanes archive.
  case header(LargeMember)
  case block(LargeMember, index: Int)
}

extension ArchiveItem {
  /// The approximate bytes of the item in a tar before compression, headers included.
  var plainSize: Int {
    switch self {
    case .member(let record, let map):
      let headers = Self.headersSize + (map?.count ?? 0) * Self.rangeSize + Self.pathSize(of: record)
      return headers + Int(min(Self.storedSize(of: record), Self.largestContent))
    case .link(let record, _): return Self.headersSize + 2 * Self.pathSize(of: record)
    case .header(let member): return Self.headersSize + Self.pathSize(of: member.record)
    case .block(let member, _): return member.blockSize
    }
  }

  /// Bytes of a file that are read for the archive, without holes, according to its status.
  static func storedSize(of record: FileRecord) -> Int64 {
    guard record.status.kind == .regular else { return 0 }
    return max(0, min(record.status.size, record.status.allocated))
  }

  /// The bytes for a long path, which occurs in the headers, in the list of members, and in rows.
  private static func pathSize(of record: FileRecord) -> Int {
    Int(clamping: min(record.excessPathLength * 4, mostOfPath))
  }

  /// In bytes. A longer path counts only as this much, so that it does not make a file large.
  static let mostOfPath: Int64 = 1 << 20

  /// A pax header with its records, a header, and half a block at the end of the content.
  private static let headersSize = 4 * TarBlock.size
  /// Two blocks of the hardest level: a larger file is archived block by block. A file system may report any size.
  private static let largestContent: Int64 = 256 << 20
  /// The size of one data range, as text.
  private static let rangeSize = 24
}

extension ArchiveItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .member(let record, _), .link(let record, _): record.path
    case .header(let member), .block(let member, _): member.record.path
    }
  }
}
