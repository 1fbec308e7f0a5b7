import BatchEngine

/// What one step of a run that archives is about.
package enum ArchiveItem: Sendable {
  /// A file that one operation writes, or something without content; where it has data when that is known.
  case member(FileRecord, dataMap: [Range<UInt64>]?)
  /// One more name of a file that came before.
  case link(FileRecord, first: PathBytes)
  /// The header of a file that all lanes write.
  case header(LargeMember)
  case block(LargeMember, index: Int)
  case problem(Problem)
}

extension ArchiveItem {
  /// Bytes that a tar archive will hold of it before compression, headers included, roughly.
  var plainSize: Int {
    switch self {
    case .member(let record, let map):
      let headers = Self.headersSize + (map?.count ?? 0) * Self.rangeSize + Self.pathSize(of: record)
      return headers + Int(min(Self.storedSize(of: record), Self.largestContent))
    case .link(let record, _): return Self.headersSize + 2 * Self.pathSize(of: record)
    case .header(let member): return Self.headersSize + Self.pathSize(of: member.record)
    case .block(let member, _): return member.blockSize
    case .problem: return 0
    }
  }

  /// Bytes of a file that are read for the archive, without holes, as far as its status shows.
  static func storedSize(of record: FileRecord) -> Int64 {
    guard record.status.kind == .regular else { return 0 }
    return max(0, min(record.status.size, record.status.allocated))
  }

  /// A long path stands in the headers, in the list of members, and in rows.
  private static func pathSize(of record: FileRecord) -> Int {
    Int(clamping: min(record.excessPathLength * 4, mostOfPath))
  }

  /// In bytes: more than that of path does not make a file a large one.
  static let mostOfPath: Int64 = 1 << 20

  /// Of a pax header with its records, a header, and half a block at the end of the content.
  private static let headersSize = 4 * TarBlock.size
  /// Two blocks of the hardest level: a larger file is archived block by block. A file system may report any size.
  private static let largestContent: Int64 = 256 << 20
  /// Of an entry in a map of data, as text.
  private static let rangeSize = 24
}

extension ArchiveItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .member(let record, _), .link(let record, _): record.path
    case .header(let member), .block(let member, _): member.record.path
    case .problem: nil
    }
  }
}
