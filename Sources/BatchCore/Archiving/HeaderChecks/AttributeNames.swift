import BatchEngine

/// Names of extended attributes in pax records `SCHILY.xattr.NAME=VALUE`.
///
/// A key cannot contain `=`. GNU tar writes `%3D` for it and `%25` for a percent sign, and reads only these two. libarchive
/// writes `%` and two digits for these, for blanks, for control characters and for bytes that are not ASCII, and reads none of
/// them. So in a written name only `=` is encoded, and a percent sign that would be read as the beginning of a code.
enum AttributeNames {
  static let prefix = Array("SCHILY.xattr.".utf8)
  private static let percent = UInt8(ascii: "%")
  private static let equals = UInt8(ascii: "=")
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// Whether libarchive encodes a byte.
  private static func isEncoded(_ byte: UInt8) -> Bool {
    byte < 33 || byte > 126 || byte == percent || byte == equals
  }

  /// Whether libarchive encodes a byte of the name.
  static func areEncoded(in name: [UInt8]) -> Bool { name.contains(where: isEncoded) }

  /// The name without the codes of GNU tar and of libarchive.
  static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    let text = Array(text)
    guard text.contains(percent) else { return text }
    var name = [UInt8]()
    var place = 0
    while place < text.count {
      let code = code(in: text, at: place)
      name.append(code ?? text[place])
      place += code == nil ? 1 : 3
    }
    return name
  }

  /// The name in the form of GNU tar, which programs that read no codes read as well if possible.
  static func encoded(_ name: [UInt8]) -> [UInt8] {
    var text = [UInt8]()
    for (place, byte) in name.enumerated() {
      let isCode = byte == equals || (byte == percent && code(in: name, at: place) != nil)
      text += isCode ? code(of: byte) : [byte]
    }
    return text
  }

  private static func code(of byte: UInt8) -> [UInt8] {
    [percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// The byte that a code stands for; nil if there is none at this place.
  private static func code(in text: [UInt8], at place: Int) -> UInt8? {
    guard text[place] == percent, place + 2 < text.count, let high = digits.firstIndex(of: text[place + 1]),
      let low = digits.firstIndex(of: text[place + 2])
    else { return nil }
    let byte = UInt8(high << 4 | low)
    return byte != 0 && isEncoded(byte) ? byte : nil
  }
}

/// The extended attributes in the pax records of a member.
struct PaxAttributes {
  private var found: [ExtendedAttribute] = []
  private var places: [[UInt8]: Int] = [:]
  /// The names as they are stored.
  private var stored: Set<[UInt8]> = []
  private var hasCodes = false

  mutating func add(_ record: TarHeaderScan.Record) {
    guard record.key.starts(with: AttributeNames.prefix) else { return }
    let text = Array(record.key.dropFirst(AttributeNames.prefix.count))
    let name = AttributeNames.decoded(text)
    guard !name.isEmpty else { return }
    hasCodes = hasCodes || name != text
    stored.insert(text)
    let attribute = ExtendedAttribute(name: name, value: Array(record.value))
    // The last record with a key holds.
    if let place = places[name] {
      found[place] = attribute
    } else {
      places[name] = found.count
      found.append(attribute)
    }
  }

  /// Gives the attributes their names. bsdtar writes each attribute in a second form, whose names libarchive decodes.
  func apply(to entry: inout ArchiveEntry) {
    guard hasCodes else { return }
    entry.attributes =
      found + entry.attributes.filter { !stored.contains($0.name) && places[$0.name] == nil }
  }
}
