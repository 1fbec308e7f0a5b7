import BatchEngine
import Synchronization

/// What a verification found out about an archive, beside its members.
public final class Verification: Sendable {
  private struct State {
    var damage: [String] = []
    var facts: [String] = []
    var indexDigest: Digest?
    var marks = SupersededMembers()
  }

  private let state = Mutex(State())

  public init() {}

  /// What is wrong with the archive itself.
  public var damage: [String] { state.withLock { $0.damage } }

  /// What was checked, and what could not be, in sentences.
  public var facts: [String] { state.withLock { $0.facts } }

  /// The SHA-256 of the index, which stands for the whole archive; nil where there is none.
  public var indexDigest: Digest? { state.withLock { $0.indexDigest } }

  /// Which members of an index are superseded.
  var marks: SupersededMembers {
    get { state.withLock { $0.marks } }
    set { state.withLock { $0.marks = newValue } }
  }

  func damaged(_ text: String) {
    state.withLock { if !$0.damage.contains(text) { $0.damage.append(text) } }
  }

  func note(_ text: String) {
    state.withLock { $0.facts.append(text) }
  }

  func begin(_ indexed: IndexedArchive) {
    let index = indexed.index
    state.withLock { state in
      state.indexDigest = index.digest
      state.facts.append(
        "checked the checksum of each of \(index.frames.count) frames, the SHA-256 of every file, and the end of the archive"
      )
    }
    checkCounts(of: index)
  }

  /// The index holds a count of its own.
  private func checkCounts(of index: MemberIndex) {
    if index.memberBytes != index.totalBytes {
      damaged("the index counts \(index.totalBytes) bytes, its members have \(index.memberBytes)")
    }
  }

  func begin(format: CompressionFormat?, start: [UInt8]) {
    let fact: String
    switch format {
    case .zst:
      let hasChecksum = start.count > 4 && start[4] >> 2 & 1 == 1
      fact = hasChecksum ? "compared the checksums of zstd" : "its zstd frames have no checksums"
    case .gz: fact = "compared the CRC-32 and length of gzip"
    case .bz2: fact = "compared the CRC-32 of each block of bzip2"
    case .xz: fact = "compared the checks of xz"
    case .lz4: fact = "compared the checksums of lz4, where it has them"
    case .lz: fact = "compared the CRC-32 and sizes of lzip"
    case .lzma, .lzw: fact = "\(format == .lzma ? "lzma" : "compress(1)") data has no checksums"
    case nil: return
    }
    state.withLock { $0.facts.append(fact) }
  }

  func end(_ reader: ArchiveReader) {
    // Nobody can vouch for a file that may have had more, or of which a part was not looked at.
    let doubts = reader.remarks.filter {
      [ArchiveReader.moreRemark, ArchiveReader.loneBlockRemark].contains($0)
    }
    doubts.forEach { damaged($0) }
    state.withLock { state in
      if doubts.isEmpty, state.damage.isEmpty {
        state.facts.append("it is complete to its end (\(reader.formatName))")
      }
      state.facts.append(reader.checksFact)
      state.facts.append("no index: contents were readable, but there are no SHA-256 digests to check")
      state.facts += reader.remarks.filter { !doubts.contains($0) }
    }
  }
}
