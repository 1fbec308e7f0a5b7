import BatchEngine

/// Writes the whole name of a sparse file into its pax header.
///
/// If names are not text, libarchive 3.6 writes only 100 bytes of the last component into the record `GNU.sparse.name`, from
/// which every reader takes the name.
///
/// Format: "pax Extended Header" in POSIX.1-2017, `pax`: records of the form `LENGTH KEY=VALUE\n`, where LENGTH is that of the
/// whole record in decimal digits.
enum SparseName {
  private static let key = Array("GNU.sparse.name".utf8)
  private static let blockSize = TarBlock.size

  /// - Parameter start: the offset of the pax header.
  static func complete(_ name: PathBytes, in bytes: inout [UInt8], from start: Int) {
    let content = start + blockSize
    guard content <= bytes.count, bytes[start + 156] == UInt8(ascii: "x"),
      let size = Int(String(decoding: bytes[(start + 124)..<(start + 135)], as: UTF8.self), radix: 8),
      size <= bytes.count - content
    else { return }
    var records: [UInt8] = []
    var rest = bytes[content..<(content + size)]
    while let record = nextRecord(&rest) {
      records += record.key == key[...] ? Self.record(name.bytes) : Array(record.whole)
    }
    guard rest.isEmpty else { return }
    let padded = { (size: Int) in (size + blockSize - 1) / blockSize * blockSize }
    guard padded(size) <= bytes.count - content else { return }
    let newSize = records.count
    records += repeatElement(0, count: padded(newSize) - newSize)
    bytes.replaceSubrange(content..<(content + padded(size)), with: records)
    TarHeaders.set(size: newSize, at: start, of: &bytes)
  }

  /// Removes the first record and returns it.
  private static func nextRecord(
    _ rest: inout ArraySlice<UInt8>
  ) -> (key: ArraySlice<UInt8>, whole: ArraySlice<UInt8>)? {
    guard let space = rest.firstIndex(of: UInt8(ascii: " ")),
      let length = Int(String(decoding: rest[..<space], as: UTF8.self)),
      length > space - rest.startIndex + 1, length <= rest.count
    else { return nil }
    let whole = rest.prefix(length)
    guard let equals = whole[space...].firstIndex(of: UInt8(ascii: "=")) else { return nil }
    rest = rest.dropFirst(length)
    return (whole[(space + 1)..<equals], whole)
  }

  private static func record(_ value: [UInt8]) -> [UInt8] {
    let body = [UInt8(ascii: " ")] + key + [UInt8(ascii: "=")] + value + [UInt8(ascii: "\n")]
    var length = body.count + 1
    // The length includes its own digits.
    while String(length).utf8.count + body.count != length { length = String(length).utf8.count + body.count }
    return Array(String(length).utf8) + body
  }
}
