import BatchEngine

/// Reads one flat JSON object member by member; nested values are refused.
struct JSONObjectParser {
  enum Value {
    /// The decoded bytes of the string.
    case string([UInt8])
    case number(ArraySlice<UInt8>)
    /// `true`, `false` or `null`.
    case word(ArraySlice<UInt8>)
  }

  private var rest: ArraySlice<UInt8>
  private var isOpen = false

  init(_ line: [UInt8]) {
    rest = line[...]
  }

  /// The next member; nil after the last one, if only blanks follow the object.
  mutating func next() throws(MalformedLine) -> (key: String, value: Value)? {
    if isOpen {
      if takes("}") { return try end() }
      guard takes(",") else { throw Self.notAnObject }
    } else {
      guard takes("{") else { throw Self.notAnObject }
      isOpen = true
      if takes("}") { return try end() }
    }
    guard takes("\"") else { throw Self.notAnObject }
    let key = String(decoding: try string(), as: UTF8.self)
    guard takes(":") else { throw Self.notAnObject }
    return (key, try value())
  }

  private mutating func end() throws(MalformedLine) -> (key: String, value: Value)? {
    guard rest.allSatisfy(Self.isBlank) else { throw Self.notAnObject }
    return nil
  }

  private mutating func value() throws(MalformedLine) -> Value {
    if takes("\"") { return .string(try string()) }
    let word = rest.prefix { !Self.isBlank($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "}") }
    rest = rest[word.endIndex...]
    guard let first = word.first else { throw Self.notAnObject }
    if first == UInt8(ascii: "-") || first >= UInt8(ascii: "0") && first <= UInt8(ascii: "9") {
      return .number(word)
    }
    let isKnown = ["true", "false", "null"].contains { word.elementsEqual($0.utf8) }
    guard isKnown else { throw Self.notAnObject }
    return .word(word)
  }

  /// The bytes of a string whose opening quote was consumed.
  private mutating func string() throws(MalformedLine) -> [UInt8] {
    var bytes = [UInt8]()
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return bytes
      case UInt8(ascii: "\\"): try appendEscape(to: &bytes)
      case 0..<0x20: throw MalformedLine("a control byte in a JSON string")
      default: bytes.append(byte)
      }
    }
    throw MalformedLine("a JSON string without an end")
  }

  private mutating func appendEscape(to bytes: inout [UInt8]) throws(MalformedLine) {
    guard let letter = rest.popFirst() else { throw Self.badEscape }
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(letter)
    case UInt8(ascii: "b"): bytes.append(0x08)
    case UInt8(ascii: "f"): bytes.append(0x0c)
    case UInt8(ascii: "n"): bytes.append(0x0a)
    case UInt8(ascii: "r"): bytes.append(0x0d)
    case UInt8(ascii: "t"): bytes.append(0x09)
    case UInt8(ascii: "u"):
      var units = [try codeUnit()]
      if UTF16.isLeadSurrogate(units[0]) {
        guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u") else {
          throw Self.badEscape
        }
        units.append(try codeUnit())
      }
      guard let text = String(validating: units, as: UTF16.self) else { throw Self.badEscape }
      bytes += Array(text.utf8)
    default: throw Self.badEscape
    }
  }

  private mutating func codeUnit() throws(MalformedLine) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = rest.popFirst(), let value = Hexadecimal.value(of: digit) else {
        throw Self.badEscape
      }
      unit = unit << 4 | UInt16(value)
    }
    return unit
  }

  /// Consumes a mark and the blanks before it, if it comes next.
  private mutating func takes(_ mark: Unicode.Scalar) -> Bool {
    rest = rest.drop(while: Self.isBlank)
    guard rest.first == UInt8(ascii: mark) else { return false }
    rest = rest.dropFirst()
    return true
  }

  static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || (0x09...0x0d).contains(byte)
  }

  private static var notAnObject: MalformedLine { MalformedLine("not a flat JSON object") }
  private static var badEscape: MalformedLine { MalformedLine("an invalid escape in a JSON string") }
}
