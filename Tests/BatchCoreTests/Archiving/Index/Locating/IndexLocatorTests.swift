import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The search for a member index")
struct IndexLocatorTests {
  static let formats = ["tar", "tar.zst", "tar.gz", "tar.xz", "tar.lz4"]

  private let folder: TreeFixture

  init() throws { folder = try TreeFixture() }

  private enum Answer: Equatable {
    case none
    case damaged(from: Int?)
    case found(remarks: Int)

    var isDamaged: Bool { if case .damaged = self { true } else { false } }
  }

  /// Searches the index in `bytes`; checks that an index that is found is that of the archive.
  private func find(_ archive: Archive, in bytes: [UInt8]) throws -> Answer {
    let file = try ArchiveFile(folder.file("archive", bytes), in: SourceContext(RunContext()))
    switch try IndexedArchive.find(in: file, checks: true, memory: 1 << 28, by: ReadingRight()) {
    case .none: return .none
    case .unusable(_, let start): return .damaged(from: start.map { Int($0) })
    case .found(let indexed, let remarks):
      #expect(indexed.index.count == archive.memberCount)
      #expect(indexed.index.frames.last.map { Int($0.compressed.upperBound) } == archive.frames.count)
      return .found(remarks: remarks.count)
    }
  }

  @Test("finds an index of any size", arguments: formats, [1, 3000])
  func found(format: String, members: Int) throws {
    let archive = try Archive(format, members: members)
    #expect(try find(archive, in: archive.bytes) == .found(remarks: 0))
  }

  @Test("finds no index in a file without one", arguments: formats)
  func foreign(format: String) throws {
    let archive = try Archive(format)
    #expect(try find(archive, in: archive.frames) == .none)
    let start = archive.frames.prefix(64)
    for content in SampleContent.allCases {
      // A file that begins in the format and continues with other content.
      #expect(try find(archive, in: start + content.bytes(5000)) == .none)
      #expect(try find(archive, in: content.bytes(5000)) == .none)
    }
    // The empty member at the end of a bgzip file has an extra field, too.
    let bgzip: [UInt8] =
      [31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 66, 67, 2, 0, 27, 0, 3, 0] + [UInt8](repeating: 0, count: 8)
    #expect(try find(archive, in: archive.frames + bgzip) == .none)
  }

  @Test("does not accept a cut tail as a complete one", arguments: formats)
  func cuts(format: String) throws {
    let archive = try Archive(format)
    let (start, end) = (archive.frames.count, archive.bytes.count)
    let cuts = (start..<end).filter { Campaign.isFull || $0 % 4 == 0 || $0 < start + 40 || $0 >= end - 40 }
    for count in cuts {
      let answer = try find(archive, in: Array(archive.bytes[..<count]))
      #expect(answer != .found(remarks: 0), "\(count) of \(end)")
    }
  }

  @Test("reports a gzip index that was cut between its slices as damaged")
  func cutSlices() throws {
    let archive = try Archive("tar.gz", members: 3000)
    let slice = ArchiveTail.gzipSlice([]).count + ArchiveTail.largestGzipSlice
    let locator = archive.bytes.count - ArchiveTail.gzipLocatorSize
    for count in [archive.frames.count + slice, locator] {
      #expect(try find(archive, in: Array(archive.bytes[..<count])) == .damaged(from: nil))
    }
  }

  @Test(
    "finds an index in skippable frames by reading them one by one when the end is cut off",
    arguments: ["tar.zst", "tar.lz4"])
  func scanned(format: String) throws {
    let archive = try Archive(format)
    let indexLength = 8 + Int(archive.tail[4]) + Int(archive.tail[5]) << 8
    for count in [indexLength, indexLength + 1, archive.tail.count - 1] {
      let bytes = archive.frames + archive.tail[..<count]
      #expect(try find(archive, in: bytes) == .found(remarks: 1))
    }
  }

  @Test("notices each flipped bit", arguments: formats)
  func flips(format: String) throws {
    let archive = try Archive(format)
    let whole = archive.bytes
    var unnoticed: [Int] = []
    var silent: [Int] = []
    for place in archive.frames.count..<whole.count {
      // A bit in the header of the zstd data may change its window size or its dictionary number.
      let isHeader = archive.indexRange.prefix(12).contains(place)
      for bit in isHeader ? Array(0..<8) : [place % 8] {
        var bytes = whole
        bytes[place] ^= UInt8(1) << UInt8(bit)
        switch try find(archive, in: bytes) {
        case .found(remarks: 0): unnoticed.append(place)
        case .none: silent.append(place)
        default: break
        }
      }
    }
    #expect(unnoticed == [])
    // In an xz file, the checks of xz report the flipped bit.
    if format != "tar.xz" { #expect(silent == []) }
  }

  @Test(
    "refuses an index at an impossible place",
    arguments: [0, 1, 63, 1 << 20, 1 << 40, 1 << 62, .max] as [UInt64])
  func absurd(number: UInt64) throws {
    var bytes: [UInt8] = []
    bytes.appendLittleEndian(number)
    func with(_ archive: Archive, at place: Int, _ count: Int = 8) -> [UInt8] {
      var all = archive.bytes
      all.replaceSubrange(place..<(place + count), with: bytes[..<count])
      return all
    }
    let gzip = try Archive("tar.gz")
    #expect(try find(gzip, in: with(gzip, at: gzip.bytes.count - 48)).isDamaged)
    let plain = try Archive("tar")
    #expect(try find(plain, in: with(plain, at: plain.bytes.count - 504)).isDamaged)
    // In these formats, the frames can be read one by one from the beginning.
    let lz4 = try Archive("tar.lz4")
    #expect(try find(lz4, in: with(lz4, at: lz4.bytes.count - 16)) == .found(remarks: 1))
    let zstd = try Archive("tar.zst")
    #expect(try find(zstd, in: with(zstd, at: zstd.bytes.count - 9, 4)) == .found(remarks: 1))
    // An xz stream with correct checks whose content is wrong.
    let xz = try Archive("tar.xz")
    let lie = try CompressionFormat.xz.makeContext().compressed(
      xz.index + [UInt8](repeating: 0, count: 512) + TailBlock(indexLength: number).bytes)
    #expect(try find(xz, in: xz.frames + lie) == .damaged(from: xz.frames.count))
  }

  @Test("refuses the index of one archive in a file that joins two", arguments: formats)
  func joined(format: String) throws {
    let archive = try Archive(format)
    let foreign = archive.frames
    for bytes in [archive.bytes + archive.bytes, foreign + archive.bytes, archive.bytes + foreign] {
      #expect(try find(archive, in: bytes) != .found(remarks: 0))
    }
    #expect(try find(archive, in: foreign + archive.bytes).isDamaged)
  }

  @Test("notices that members were appended to a tar whose index is complete")
  func appended() throws {
    let archive = try Archive("tar")
    var bytes = archive.bytes
    bytes[archive.frames.count - 1024] = UInt8(ascii: "n")
    #expect(try find(archive, in: bytes) == .damaged(from: nil))
  }
}

/// An archive whose members are not read: its frames, then its tail.
private struct Archive {
  let memberCount: Int
  private(set) var frames: [UInt8] = []
  private(set) var tail: [UInt8] = []
  /// The index as it is stored.
  let index: [UInt8]

  var bytes: [UInt8] { frames + tail }

  /// The place of the index in the file, in formats that store it in one piece.
  var indexRange: Range<Int> {
    let start = tail.indices.first { tail[$0...].starts(with: index) } ?? 0
    return (frames.count + start)..<(frames.count + start + index.count)
  }

  init(_ name: String, members: Int = 1) throws {
    memberCount = members
    let format = try #require(ArchiveFormat(named: name))
    let codec = try format.compression?.makeContext()
    let digests = try DigestStream(.sha256)
    var places: [MemberIndex.Frame] = []
    for plain in [SampleContent.noise.bytes(4096), [UInt8](repeating: 0, count: 1024)] {
      let frame = ArchiveFrame(bytes: try codec?.compressed(plain) ?? plain, plainSize: UInt64(plain.count))
      let plainEnd = places.last?.plain.upperBound ?? 0
      places.append(
        MemberIndex.Frame(
          compressed: UInt64(frames.count)..<UInt64(frames.count + frame.bytes.count),
          plain: plainEnd..<(plainEnd + frame.plainSize), check: frame.check))
      frames += frame.bytes
    }
    let builder = try MemberIndexBuilder()
    for number in 0..<members {
      let digest = try withBytes(of: Array("\(number)".utf8)) { (raw) throws(BatchError) in
        try digests.digest(of: raw)
      }
      let entry = ArchiveEntry(
        path: PathBytes("m\(number)"), kind: .file, size: 1,
        modified: FileStatus.Time(seconds: 1, nanoseconds: 0))
      try builder.add(ArchivedMember(entry, offset: number, digest: digest), frame: 0)
    }
    let extent = try builder.finish(places)
    index = try extent.bytes(0..<extent.count)
    let written = ArchiveTail(format: format, index: extent, offset: UInt64(frames.count), frames: places)
    try written.write(codec) { tail += $0 }
  }
}
