import BatchEngine
import func Glibc.memcpy
import func Glibc.memset

/// The headers of members that fit into the fields of ustar, as most do: short ASCII names, and no other data except the
/// fraction of a second.
///
/// The bytes are equal to those of libarchive, which writes all other headers. For each header libarchive copies the entry
/// twice and allocates about forty times, which took a seventh of the time of an uncompressed archive.
///
/// Format: "ustar Interchange Format" and "pax Extended Header" in POSIX.1-2017, `pax`.
enum UstarHeader {
  private static let fieldLength = 100
  private static let prefixLength = 155
  /// A longer last component is cut in the name of a pax header.
  private static let longestName = 87
  private static let longestOwner = 31
  /// The limits of libarchive: from these on, a number is written to a pax header too.
  private static let numberBound: UInt32 = 1 << 18
  private static let sizeBound: UInt64 = 1 << 33
  private static let timeBound: Int64 = 0x7fff_ffff

  private static let slash = UInt8(ascii: "/")
  private static let extensionName: StaticString = "PaxHeader/"
  private static let blockSize = TarBlock.size

  /// Where the bytes of a path are written.
  private struct Place {
    /// The start of its last component.
    let name: Int
    /// The slash at which the path is divided into two fields; nil if one is enough.
    let cut: Int?
    /// That slash in the name of its pax header, which has one more folder.
    let extendedCut: Int?

    /// - Returns: nil if it does not fit into the fields.
    init?(_ path: [UInt8], isFolder: Bool) {
      name = path.lastIndex(of: slash).map { $0 + 1 } ?? 0
      // In the name of a pax header a longer folder would be shortened, and names with such ends would be changed.
      guard path.count - name <= longestName, name <= prefixLength, let last = path.last,
        last != slash, last != UInt8(ascii: ".")
      else { return nil }
      let length = path.count + (isFolder ? 1 : 0)
      cut = Self.cut(path, length)
      extendedCut = Self.cut(path, path.count + extensionName.utf8CodeUnitCount)
      guard length <= fieldLength || cut.map({ $0 <= prefixLength }) ?? false else { return nil }
    }

    /// The first slash after which the rest fits into the name field, and before which the path is not empty.
    private static func cut(_ path: [UInt8], _ length: Int) -> Int? {
      guard length > fieldLength else { return nil }
      return path[min(max(1, length - fieldLength - 1), path.count)...].firstIndex(of: slash)
    }
  }

  /// Appends the headers of a member.
  ///
  /// - Returns: false, without appending anything, for a member that needs other headers.
  static func append(_ member: ArchiveEntry, to bytes: inout [UInt8]) throws(BatchError) -> Bool {
    let path = member.path.bytes
    let isFolder = member.kind == .directory
    guard isSimple(member), let place = Place(path, isFolder: isFolder) else { return false }
    let count = member.modified.nanoseconds == 0 ? blockSize : 3 * blockSize
    try bytes.append(upTo: count) { base in
      memset(base, 0, count)
      var block = Block(base)
      if member.modified.nanoseconds > 0 {
        var end = block.put(path[..<place.name], cut: place.extendedCut)
        block.put(extensionName, at: end)
        end += extensionName.utf8CodeUnitCount
        block.put(path[place.name...], at: end)
        let length = Block(base + blockSize).put(record: member.modified)
        block.put(member, mode: member.mode & 0o777, size: UInt64(length), flag: UInt8(ascii: "x"))
        block = Block(base + 2 * blockSize)
      }
      let end = block.put(path[...], cut: place.cut)
      if isFolder { block.put(slash, at: end) }
      if let target = member.linkTarget { block.put(target.bytes, at: 157) }
      block.put(
        member, mode: member.mode & 0o7777, size: member.kind == .file ? member.size : 0,
        flag: member.kind.rawValue)
      return count
    }
    return true
  }

  private static func isSimple(_ member: ArchiveEntry) -> Bool {
    switch member.kind {
    case .file, .directory: guard member.linkTarget == nil else { return false }
    case .symbolicLink, .hardLink:
      guard let target = member.linkTarget?.bytes, !target.isEmpty, isSimple(target, upTo: fieldLength)
      else { return false }
    case .fifo, .characterDevice, .blockDevice: return false
    }
    return member.attributes.isEmpty && member.dataMap == nil && member.size < sizeBound
      && member.owner < numberBound && member.group < numberBound
      && (0..<timeBound).contains(member.modified.seconds)
      && (0..<1_000_000_000).contains(member.modified.nanoseconds)
      && isSimple(member.ownerName, upTo: longestOwner) && isSimple(member.groupName, upTo: longestOwner)
      && isSimple(member.path.bytes, upTo: .max)
  }

  private static func isSimple(_ name: [UInt8], upTo length: Int) -> Bool {
    name.count <= length && name.allSatisfy { (1..<0x80).contains($0) }
  }

  /// A header block, initially zero.
  private struct Block {
    private let base: UnsafeMutablePointer<UInt8>

    init(_ base: UnsafeMutablePointer<UInt8>) {
      self.base = base
    }

    func put(_ byte: UInt8, at offset: Int) {
      base[offset] = byte
    }

    func put(_ bytes: some Collection<UInt8>, at offset: Int) {
      _ = UnsafeMutableBufferPointer(start: base + offset, count: bytes.count).update(fromContentsOf: bytes)
    }

    func put(_ text: StaticString, at offset: Int) {
      memcpy(base + offset, text.utf8Start, text.utf8CodeUnitCount)
    }

    /// Writes the name, or a part of it.
    ///
    /// - Parameter cut: the slash that ends the part in the prefix field.
    /// - Returns: where the name ends in the name field.
    func put(_ name: ArraySlice<UInt8>, cut: Int?) -> Int {
      guard let cut else {
        put(name, at: 0)
        return name.count
      }
      put(name[..<cut], at: 345)
      put(name[(cut + 1)...], at: 0)
      return name.endIndex - cut - 1
    }

    /// Writes all fields except the names, then the checksum.
    func put(_ member: ArchiveEntry, mode: UInt32, size: UInt64, flag: UInt8) {
      putOctal(UInt64(mode), digits: 6, at: 100)
      putOctal(UInt64(member.owner), digits: 6, at: 108)
      putOctal(UInt64(member.group), digits: 6, at: 116)
      putOctal(size, digits: 11, at: 124)
      putOctal(UInt64(clamping: member.modified.seconds), digits: 11, at: 136)
      put("        ", at: 148)
      put(flag, at: 156)
      put("ustar\u{0}00", at: 257)
      put(member.ownerName, at: 265)
      put(member.groupName, at: 297)
      putOctal(0, digits: 6, at: 329)
      putOctal(0, digits: 6, at: 337)
      var sum: UInt32 = 0
      for offset in 0..<blockSize { sum &+= UInt32(base[offset]) }
      putOctal(UInt64(sum), digits: 6, at: 148)
      put(0, at: 154)
      put(UInt8(ascii: " "), at: 155)
    }

    /// Writes octal digits and a space.
    private func putOctal(_ number: UInt64, digits: Int, at offset: Int) {
      var rest = number
      for position in stride(from: offset + digits - 1, through: offset, by: -1) {
        base[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest & 7)
        rest >>= 3
      }
      base[offset + digits] = UInt8(ascii: " ")
    }

    /// Writes the record of a time with a fraction, the only record of the pax header.
    ///
    /// - Returns: its length in bytes, which is also written at its start.
    func put(record time: FileStatus.Time) -> Int {
      let prefix: StaticString = "00 mtime="
      put(prefix, at: 0)
      let seconds = Self.digitCount(time.seconds)
      var end = prefix.utf8CodeUnitCount + seconds
      putDecimal(time.seconds, digits: seconds, at: prefix.utf8CodeUnitCount)
      put(UInt8(ascii: "."), at: end)
      var fraction = Int64(time.nanoseconds)
      var digits = 9
      while fraction % 10 == 0, digits > 1 {
        fraction /= 10
        digits -= 1
      }
      putDecimal(fraction, digits: digits, at: end + 1)
      end += 1 + digits
      put(UInt8(ascii: "\n"), at: end)
      // Always from 10 to 99.
      putDecimal(Int64(end + 1), digits: 2, at: 0)
      return end + 1
    }

    private static func digitCount(_ number: Int64) -> Int {
      var count = 1
      var rest = number / 10
      while rest > 0 {
        count += 1
        rest /= 10
      }
      return count
    }

    private func putDecimal(_ number: Int64, digits: Int, at offset: Int) {
      var rest = number
      for position in stride(from: offset + digits - 1, through: offset, by: -1) {
        base[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
    }
  }
}
