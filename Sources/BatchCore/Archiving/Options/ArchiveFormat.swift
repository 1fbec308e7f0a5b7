import BatchEngine

/// An archive format that can be written.
public struct ArchiveFormat: Sendable, Hashable {
  /// The format that contains the members.
  package enum Container: Sendable, Hashable {
    /// Pax interchange, POSIX.1-2001.
    case tar
    /// The portable ASCII format of SVR4, `newc`.
    case cpio
    case zip
    case sevenZip
  }

  /// The name on the command line, which is also the suffix without its dot: `tar.zst`.
  public let name: String
  package let container: Container
  /// Nil if nothing is compressed, or the container compresses by itself.
  package let compression: CompressionFormat?
  /// Further suffixes, without their dot.
  package let shortSuffixes: [String]

  /// The format of backups.
  static let tarZstandard = ArchiveFormat(tarOf: .zst, alsoNamed: ["tar.zstd"])

  /// All formats; the first is the default for names without a known suffix.
  public static let all: [ArchiveFormat] =
    [ArchiveFormat("tar", .tar), tarZstandard]
    + CompressionFormat.allCases.filter { $0.codec.index != nil && $0 != .zst }
    .map { ArchiveFormat(tarOf: $0) }
    + [ArchiveFormat("cpio", .cpio), ArchiveFormat("zip", .zip), ArchiveFormat("7z", .sevenZip)]

  /// The times of modification that it can store, in seconds since 1970.
  var times: ClosedRange<Int64> {
    switch container {
    case .tar, .sevenZip: Int64.min...Int64.max
    case .cpio, .zip: 0...Int64(UInt32.max)
    }
  }

  /// Whether independent parts can be concatenated to one archive.
  package var isJoinable: Bool { container == .tar }

  /// The format of this name; nil for other names.
  public init?(named name: String) {
    guard let format = Self.all.first(where: { $0.name == name }) else { return nil }
    self = format
  }

  /// The format for the suffix of a file name; ASCII case is ignored.
  public init?(suffixOf path: PathBytes) {
    let name = path.lastComponent.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    let found = Self.all.first { format in
      ([format.name] + format.shortSuffixes).contains { suffix in
        name.count > suffix.utf8.count + 1 && name.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
          && name.dropLast(suffix.utf8.count).last == UInt8(ascii: ".")
      }
    }
    guard let found else { return nil }
    self = found
  }

  private init(_ name: String, _ container: Container) {
    self.name = name
    self.container = container
    compression = nil
    shortSuffixes = []
  }

  private init(tarOf compression: CompressionFormat, alsoNamed others: [String] = []) {
    name = "tar" + compression.suffix
    container = .tar
    self.compression = compression
    shortSuffixes = compression.codec.tarSuffixes + others
  }

  /// The levels that can be chosen; nil if there are none.
  public var levels: ClosedRange<Int>? {
    switch container {
    case .tar: compression?.levels
    case .cpio: nil
    case .zip, .sevenZip: 0...9
    }
  }

  /// Bytes of members in a segment, which is one frame of the archive: a reader decodes a whole segment for one member.
  var segmentSize: Int64 { compression?.codec.segmentSize ?? 4 << 20 }

  /// The bytes of a large file in one frame.
  ///
  /// - Throws: `invalid` for a level that the format does not have.
  func blockSize(level: Int?) throws(BatchError) -> Int {
    guard let compression else { return 8 << 20 }
    return try BlockPlan(compression, level: level, fileSize: nil).blockSize
  }

  /// How many members one operation processes.
  ///
  /// - Parameter count: the most members, if the user chose a number.
  package func stride(count: Int?) -> ChunkStride {
    .segments(count: count, byteCount: segmentSize)
  }

  /// Whether members can be links to others, FIFOs and devices.
  var takesSpecialMembers: Bool { container == .tar || container == .cpio }
}

extension ArchiveFormat {
  /// Bytes that one operation takes at most while it makes a segment.
  ///
  /// - Throws: `invalid` for a level that the format does not have.
  package func memoryOfLane(level: Int?) throws(BatchError) -> Int {
    guard let compression else { return try 3 * blockSize(level: level) }
    return try compression.memoryOfLane(level: level)
  }
}
