import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct UstarHeaderTests {
  private func own(_ entry: ArchiveEntry) throws -> [UInt8]? {
    var bytes: [UInt8] = [1, 2, 3]
    guard try UstarHeader.append(entry, to: &bytes) else {
      #expect(bytes == [1, 2, 3])
      return nil
    }
    return Array(bytes[3...])
  }

  private func library(_ entry: ArchiveEntry) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try TarHeaders().appendByLibrary(entry, to: &bytes)
    return bytes
  }

  /// Parts of names that a parser might misread.
  private static let components = [
    "a", "x.txt", ".", "..", ".hidden", "ends.", "with space", "tab\tnewline\n", "PaxHeader", "back\\slash",
    "*",
    "a-much-longer-name-than-the-others-have", "\u{1}\u{7f}", String(repeating: "l", count: 84),
  ]

  private static let owners: [[UInt8]] = [
    [], Array("root".utf8), Array(repeating: UInt8(ascii: "o"), count: 31),
  ]

  private func entry(_ numbers: inout SeededNumbers) -> ArchiveEntry {
    let depth = Int.random(in: 1...5, using: &numbers)
    let names = (0..<depth).map { _ in Self.components.randomElement(using: &numbers) ?? "" }
    let kind =
      [ArchiveEntry.Kind.file, .file, .directory, .symbolicLink, .hardLink]
      .randomElement(using: &numbers) ?? .file
    let isLink = kind == .symbolicLink || kind == .hardLink
    let nanoseconds: [Int32] = [
      0, 1, 10, 500_000_000, 999_999_999, .random(in: 0..<1_000_000_000, using: &numbers),
    ]
    let seconds: [Int64] = [0, 9, 10, 0x7fff_fffe, .random(in: 0..<0x7fff_ffff, using: &numbers)]
    return ArchiveEntry(
      path: PathBytes(names.joined(separator: "/")), kind: kind,
      size: [0, 1, 511, 8_589_934_591, .random(in: 0..<(1 << 33), using: &numbers)].randomElement(
        using: &numbers) ?? 0,
      mode: .random(in: 0...0o7777, using: &numbers),
      owner: [0, 1000, 262_143].randomElement(using: &numbers) ?? 0,
      group: [0, 100, 262_143].randomElement(using: &numbers) ?? 0,
      ownerName: Self.owners.randomElement(using: &numbers) ?? [],
      groupName: Self.owners.randomElement(using: &numbers) ?? [],
      modified: FileStatus.Time(
        seconds: seconds.randomElement(using: &numbers) ?? 0,
        nanoseconds: nanoseconds.randomElement(using: &numbers) ?? 0),
      linkTarget: isLink
        ? PathBytes(String(repeating: "t/", count: .random(in: 0...49, using: &numbers)) + "t") : nil)
  }

  @Test(arguments: 0..<8) func haveTheBytesThatLibarchiveWrites(_ seed: Int) throws {
    var numbers = SeededNumbers(seed: UInt64(seed))
    var count = 0
    for _ in 0..<500 {
      let entry = entry(&numbers)
      guard let bytes = try own(entry) else { continue }
      count += 1
      let expected = try library(entry)
      #expect(bytes == expected, "\(entry)")
    }
    #expect(count > 200)
  }

  @Test(arguments: 1...300) func putLongNamesWhereLibarchiveDoes(_ length: Int) throws {
    var taken = 0
    for component in [3, 10, 40, 85, 87, 88, 200] {
      let unit = String(repeating: "n", count: component) + "/"
      let path = String(String(repeating: unit, count: length / component + 2).suffix(length + 1).dropLast())
      for kind in [ArchiveEntry.Kind.file, .directory] {
        let entry = ArchiveEntry(
          path: PathBytes(path), kind: kind, modified: FileStatus.Time(seconds: 5, nanoseconds: 5))
        guard let bytes = try own(entry) else { continue }
        taken += 1
        let expected = try library(entry)
        #expect(bytes == expected, "\(path)")
      }
    }
    #expect(length > 87 || taken == 14)
    #expect(length > 155 || taken > 0)
  }

  @Test(arguments: [1, 99, 100]) func putTargetsIntoTheirField(_ length: Int) throws {
    for kind in [ArchiveEntry.Kind.symbolicLink, .hardLink] {
      let entry = ArchiveEntry(
        path: "l", kind: kind, linkTarget: PathBytes(String(repeating: "t", count: length)))
      let bytes = try #require(try own(entry))
      #expect(try bytes == library(entry))
    }
  }

  @Test func leaveOtherEntriesToLibarchive() throws {
    let plain = ArchiveEntry(path: "f", kind: .file)
    #expect(try own(plain) != nil)
    let changes: [(inout ArchiveEntry) -> Void] = [
      { $0.path = "" }, { $0.path = "." }, { $0.path = "d/" }, { $0.path = "d/." }, { $0.path = "caf\u{e9}" },
      { $0.path = PathBytes([0xff]) }, { $0.path = PathBytes(String(repeating: "n", count: 88)) },
      { $0.kind = .fifo }, { $0.kind = .characterDevice }, { $0.kind = .blockDevice },
      { $0.kind = .hardLink },
      {
        $0.kind = .symbolicLink
        $0.linkTarget = PathBytes(String(repeating: "t", count: 101))
      },
      {
        $0.kind = .symbolicLink
        $0.linkTarget = ""
      },
      { $0.linkTarget = "t" }, { $0.size = 1 << 33 }, { $0.owner = 1 << 18 }, { $0.group = .max },
      { $0.ownerName = Array(repeating: 97, count: 32) }, { $0.groupName = [0xc3, 0xa9] },
      { $0.modified = FileStatus.Time(seconds: -1, nanoseconds: 0) },
      { $0.modified = FileStatus.Time(seconds: 0x7fff_ffff, nanoseconds: 0) },
      { $0.modified = FileStatus.Time(seconds: 0, nanoseconds: 1_000_000_000) },
      { $0.attributes = [ExtendedAttribute(name: Array("user.a".utf8), value: [])] }, { $0.dataMap = [] },
    ]
    for (index, change) in changes.enumerated() {
      var entry = plain
      change(&entry)
      #expect(try own(entry) == nil, "change \(index)")
    }
  }
}
