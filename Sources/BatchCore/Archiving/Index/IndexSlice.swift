import BatchEngine

/// Members of an index that stand side by side, with the pages that they are in.
package struct IndexSlice: Sendable {
  /// What an index has of the headers and contents of some members.
  struct Checks: Sendable {
    /// The CRC-32 of the headers of each.
    let headers: [UInt8]
    let digests: [UInt8]
    /// Of each, how many before it have a digest.
    let numbers: [UInt32]
  }

  static let headerSize = MemoryLayout<UInt32>.size
  static let digestSize = 32

  let numbers: Range<Int>
  /// Each with the number of its first member.
  let pages: [(first: Int, page: MemberPage)]
  /// Nil where they were not asked for.
  let checks: Checks?
  /// Which of all members are superseded.
  var marks = SupersededMembers()

  /// The member of a number of the slice.
  subscript(number: Int) -> MemberIndex.Member {
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
    return MemberIndex.Member(
      path: page.path(index), kind: row.kind, size: row.size, modified: row.modified, flags: row.flags,
      frame: row.frame, offset: row.offset, header: header, digest: digest)
  }

  /// What is said of a member, without the rest of it.
  func flags(of number: Int) -> MemberFlags {
    let (page, index) = place(of: number)
    return page.flags(index)
  }

  /// Hands over one member after the other.
  func forEach<Failure: Error>(_ body: (ListedMember) throws(Failure) -> Void) throws(Failure) {
    for number in numbers {
      var member = ListedMember(self[number])
      member.mark = marks.mark(of: number)
      try body(member)
    }
  }

  /// The same without its first member; for those that have no checks.
  func dropFirst() -> IndexSlice { IndexSlice(numbers: numbers.dropFirst(), pages: pages, checks: nil) }

  /// Where the headers of a member begin: the frame, and the place in its content.
  func start(of number: Int) -> (frame: Int, offset: UInt64) {
    let (page, index) = place(of: number)
    let row = page.row(index)
    return (row.frame, row.offset)
  }

  /// Where the content of a file lies in the plain content of a frame, if it begins there and has a digest.
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

  /// What it holds in memory beside its pages, and its share of those, in bytes.
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
