import Testing

@testable import BatchCore

@Suite("The rows that a 7z header claims")
struct SevenZipCountsTests {
  /// A header with archive properties, additional streams and main streams; `files` is the number of files.
  private func header(packed: [UInt8], unpacked: [UInt8] = [], contents: [UInt8] = [], files: UInt8 = 1)
    -> [UInt8]
  {
    [1, 2, 0x19, 2, 7, 7, 0] + [3, 0] + [4] + packed + unpacked + contents + [0] + [5, files, 0, 0]
  }

  private static let folder: [UInt8] = [7, 11, 1, 0, 1, 1, 0x21, 12, 5]

  @Test("fit into a header with properties and checks of each kind")
  func held() {
    let packedWithChecks: [UInt8] = [6, 0, 1, 9, 5, 10, 1, 1, 2, 3, 4, 0]
    let packedWithSomeChecks: [UInt8] = [6, 0, 2, 9, 5, 5, 10, 0, 0x40, 1, 2, 3, 4, 0]
    let checkedFolder = Self.folder + [10, 1, 1, 2, 3, 4, 0]
    for packed in [packedWithChecks, packedWithSomeChecks, [6, 0, 1, 0]] {
      #expect(SevenZipCounts.facts(of: header(packed: packed)[...]) != nil)
      #expect(SevenZipCounts.facts(of: header(packed: packed, unpacked: checkedFolder)[...]) != nil)
      // A folder with two contents: the second has no stored size, and one of them has a check.
      let contents: [UInt8] = [8, 13, 2, 9, 3, 10, 0, 0x80, 1, 2, 3, 4, 0]
      #expect(
        SevenZipCounts.facts(
          of: header(packed: packed, unpacked: Self.folder + [0], contents: contents)[...]) != nil)
    }
  }

  @Test("do not fit when a count exceeds the rest of the header")
  func excessive() {
    // 0xC0 and two bytes encode a number above 16,000.
    let many: [UInt8] = [0xC0, 0xFF, 0xFF]
    for bytes in [
      header(packed: [6, 0] + many), header(packed: [6, 0, 1, 0], unpacked: [7, 11] + many),
      header(packed: [6, 0, 1, 0], unpacked: Self.folder + [0], contents: [8, 13] + many),
      header(packed: [6, 0, 1, 0], files: 100),
      header(packed: [6, 0, 1, 0], unpacked: [7, 11, 1, 0] + many),
      // Properties of a coder, of the files and of the archive.
      header(packed: [6, 0, 1, 0], unpacked: [7, 11, 1, 0, 1, 0x21, 3] + many), [1, 5, 1, 0x11] + many,
      [1, 2, 0x19] + many,
    ] {
      #expect(SevenZipCounts.facts(of: bytes[...]) == nil)
    }
  }

  @Test("are not judged when the header is cut or has another form; libarchive does that")
  func unknown() {
    let whole = header(packed: [6, 0, 2, 9, 5, 5, 10, 0, 0x40, 1, 2, 3, 4, 0], unpacked: Self.folder + [0])
    for count in [0, 1, 2, 3, 6, 7, 8, 9] { #expect(SevenZipCounts.facts(of: whole[..<count]) != nil) }
    for bytes in [[0x18], [1, 4, 9], [1, 4, 7, 12], [1, 4, 7, 11, 1, 1]] as [[UInt8]] {
      #expect(SevenZipCounts.facts(of: bytes[...]) != nil)
    }
  }

  @Test("are encoded in one to nine bytes")
  func numbers() {
    for (bytes, value) in [
      ([0x7F], 0x7F), ([0x80, 0x80], 0x80), ([0xBF, 0xFF], 0x3FFF), ([0xC1, 2, 3], 0x10302),
      ([0xE0, 1, 2, 3], 0x30201),
      ([0xFF, 1, 2, 3, 4, 5, 6, 7, 8], 0x0807_0605_0403_0201),
      ([0xFE, 1, 2, 3, 4, 5, 6, 7], 0x07_0605_0403_0201),
    ] as [([UInt8], UInt64)] {
      var rest = bytes[...]
      #expect(rest.popSevenZipNumber() == value && rest.isEmpty)
      var cut = bytes.dropLast()
      #expect(cut.popSevenZipNumber() == nil)
    }
  }
}
