import BatchEngine

/// Corrects the records in a pax header that libarchive 3.6 has written.
///
/// Format: "pax Extended Header" in POSIX.1-2017, `pax`: records of the form `LENGTH KEY=VALUE\n`, where LENGTH is that of the
/// whole record in decimal digits.
enum PaxHeader {
  private typealias Record = (key: ArraySlice<UInt8>, value: ArraySlice<UInt8>)

  private static let sparseName = Array("GNU.sparse.name".utf8)
  /// The form of attributes that libarchive reads with their codes. GNU tar warns about it.
  private static let libraryPrefix = Array("LIBARCHIVE.xattr.".utf8)
  private static let modified = Array("mtime".utf8)
  private static let blockSize = TarBlock.size

  /// Writes the whole name of a sparse file: if names are not text, libarchive writes only 100 bytes of the last component
  /// into the record from which every reader takes the name.
  ///
  /// - Parameter start: the offset of the pax header.
  static func completeSparseName(_ name: PathBytes, in bytes: inout [UInt8], from start: Int) {
    rewrite(&bytes, from: start) { [($0.key, $0.key == sparseName[...] ? name.bytes[...] : $0.value)] }
  }

  /// Writes the names of attributes in the form of GNU tar. A name with codes in it, which libarchive would not read, is
  /// written in libarchive's form too.
  static func correctAttributeNames(in bytes: inout [UInt8], from start: Int) {
    rewrite(&bytes, from: start) { record in
      guard record.key.starts(with: AttributeNames.prefix) else { return [record] }
      let code = record.key.dropFirst(AttributeNames.prefix.count)
      let name = AttributeNames.decoded(code)
      let text = AttributeNames.encoded(name)
      let corrected = ((AttributeNames.prefix + text)[...], record.value)
      guard text != name else { return [corrected] }
      return [corrected, ((libraryPrefix + code)[...], base64(record.value)[...])]
    }
  }

  /// Writes a time in the last second before 1970, which begins with -0.
  static func correctTime(_ time: FileStatus.Time, in bytes: inout [UInt8], from start: Int) {
    let value = Array(time.decimal.utf8)
    rewrite(&bytes, from: start) { [($0.key, $0.key == modified[...] ? value[...] : $0.value)] }
  }

  private static func rewrite(_ bytes: inout [UInt8], from start: Int, _ change: (Record) -> [Record]) {
    let content = start + blockSize
    guard content <= bytes.count, bytes[start + 156] == UInt8(ascii: "x"),
      let size = Int(String(decoding: bytes[(start + 124)..<(start + 135)], as: UTF8.self), radix: 8),
      size <= bytes.count - content
    else { return }
    var records: [UInt8] = []
    var rest = bytes[content..<(content + size)]
    while let record = nextRecord(&rest) {
      for changed in change(record) { append(changed, to: &records) }
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
  private static func nextRecord(_ rest: inout ArraySlice<UInt8>) -> Record? {
    guard let space = rest.firstIndex(of: UInt8(ascii: " ")),
      let length = Int(String(decoding: rest[..<space], as: UTF8.self)),
      length > space - rest.startIndex + 1, length <= rest.count
    else { return nil }
    let whole = rest.prefix(length)
    guard let equals = whole[space...].firstIndex(of: UInt8(ascii: "=")) else { return nil }
    rest = rest.dropFirst(length)
    return (whole[(space + 1)..<equals], whole[(equals + 1)...].dropLast())
  }

  private static func append(_ record: Record, to records: inout [UInt8]) {
    let body = [UInt8(ascii: " ")] + record.key + [UInt8(ascii: "=")] + record.value + [UInt8(ascii: "\n")]
    var length = body.count + 1
    // The length includes its own digits.
    while String(length).utf8.count + body.count != length { length = String(length).utf8.count + body.count }
    records += String(length).utf8
    records += body
  }

  /// Base 64 without padding, as libarchive writes it.
  private static func base64(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text = [UInt8]()
    var rest = bytes
    while !rest.isEmpty {
      let group = rest.prefix(3)
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for place in 0...group.count { text.append(letters[bits >> (18 - 6 * place) & 63]) }
      rest = rest.dropFirst(3)
    }
    return text
  }
}
