import BatchEngine

/// Consecutive members of an index, with their pages.
package struct IndexSlice: Sendable {
  /// The checksums of headers and the digests of contents of some members.
  struct Checks: Sendable {
    /// The CRC-32 of each member's headers.
    let headers: [UInt8]
    let digests: [UInt8]
    /// For each member, how many before it have a digest.
    let numbers: [UInt32]
  }

  static let headerSize = MemoryLayout<UInt32>.size
  static let digestSize = 32

  let numbers: Range<Int>
  /// Each with the number of its first member.
  let pages: [(first: Int, page: MemberPage)]
  /// Nil if they were not requested.
  let checks: Checks?
  /// Which members of the whole index are superseded.
  var marks = SupersededMembers()

  subscript(number: Int) -> ArchivedMember {
    let (page, index) = place(of: number)
    let row = page.row(index)
    var digest: Digest?
    var header: HeaderChecksum?
    if let checks {
      let position = number - numbers.lowerBound
      var reader = LittleEndianReader(checks.headers[(position * Self.headerSize)...])
      header = HeaderChecksum(size: row.headerSize, check: reader.number() ?? 0)
      if row.flags.contains(.digest) {
        let start = Int(checks.numbers[position]) * Self.digestSize
        digest = Digest(.sha256, bytes: checks.digests[start..<(start + Self.digestSize)])
      }
    }
    return ArchivedMember(
      path: page.path(index), kind: row.kind, size: row.size, modified: row.modified, digest: digest,
      flags: row.flags, frame: row.frame, offset: row.offset, header: header)
  }

  /// The flags of a member, without decoding the rest of it.
  func flags(of number: Int) -> MemberFlags {
    let (page, index) = place(of: number)
    return page.flags(index)
  }

  func forEach<Failure: Error>(_ body: (ListedMember) throws(Failure) -> Void) throws(Failure) {
    for number in numbers { try body(ListedMember(member: self[number], mark: marks.mark(of: number))) }
  }

  /// The slice without its first member; only for slices without checks.
  func dropFirst() -> IndexSlice { IndexSlice(numbers: numbers.dropFirst(), pages: pages, checks: nil) }

  /// Where the headers of a member begin: the frame, and the offset in its content.
  func start(of number: Int) -> (frame: Int, offset: UInt64) {
    let (page, index) = place(of: number)
    let row = page.row(index)
    return (row.frame, row.offset)
  }

  /// The range of a file's content in the decoded frame, if it begins in that frame and has a digest.
  func content(of number: Int, inFrame frame: Int) -> Range<Int>? {
    let (page, index) = place(of: number)
    let row = page.row(index)
    guard row.frame == frame, row.kind == .file, row.flags.contains(.digest),
      let offset = Int(exactly: row.offset), let size = Int(exactly: row.size)
    else { return nil }
    let (start, isFar) = offset.addingReportingOverflow(Int(row.headerSize))
    let (end, isHuge) = start.addingReportingOverflow(size)
    return isFar || isHuge ? nil : start..<end
  }

  /// Its memory in bytes, including its share of the pages.
  var memory: Int {
    let shares = pages.reduce(0) { $0 + $1.page.memory / $1.page.count }
    return numbers.count * (shares + (checks == nil ? 0 : Self.headerSize * 2 + Self.digestSize))
  }

  private func place(of number: Int) -> (page: MemberPage, index: Int) {
    var place = pages.count - 1
    while place > 0, pages[place].first > number { place -= 1 }
    return (pages[place].page, number - pages[place].first)
  }
}
