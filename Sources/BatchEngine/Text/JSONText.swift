import Foundation

/// Writes JSON (RFC 8259) directly as bytes.
package enum JSONText {
  /// Appends `"path":"…"`, or `"path_b64":"…"` when the bytes are not UTF-8.
  package static func append(path: PathBytes, to output: inout [UInt8]) {
    append(bytes: path.bytes, key: "path", to: &output)
  }

  /// Appends `"key":"…"`, or `"key_b64":"…"` with base64 (RFC 4648) when the bytes are not UTF-8.
  ///
  /// - Parameter key: must need no escaping.
  package static func append(bytes: [UInt8], key: StaticString, to output: inout [UInt8]) {
    output.append(quote)
    output.append(literal: key)
    let start = output.count
    output.append(literal: "\":")
    if append(bytes, to: &output) { return }
    output.removeSubrange(start...)
    output.append(literal: "_b64\":\"")
    output.append(contentsOf: Data(bytes).base64EncodedString().utf8)
    output.append(quote)
  }

  /// Appends a string literal with its quotes.
  package static func append(_ text: String, to output: inout [UInt8]) {
    output.append(quote)
    var text = text
    text.withUTF8 { appendEscaped($0, to: &output) }
    output.append(quote)
  }

  package static func append(_ number: UInt64, to output: inout [UInt8]) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var start = digits.count
      var rest = number
      repeat {
        start -= 1
        digits.initializeElement(at: start, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
        rest /= 10
      } while rest > 0
      output.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
    }
  }

  /// Appends a string literal with its quotes; appends nothing and returns false when the bytes are not UTF-8.
  package static func append(_ bytes: [UInt8], to output: inout [UInt8]) -> Bool {
    // Most names need no escaping of characters.
    if isPlain(bytes) {
      output.append(quote)
      output += bytes
      output.append(quote)
      return true
    }
    guard (try? UTF8Span(validating: bytes.span)) != nil else { return false }
    output.append(quote)
    bytes.withUnsafeBufferPointer { appendEscaped($0, to: &output) }
    output.append(quote)
    return true
  }

  /// Whether bytes are ASCII that needs no escape.
  private static func isPlain(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { bytes in
      var isPlain = true
      for byte in bytes {
        isPlain = isPlain && byte >= 0x20 && byte < 0x7f && byte != quote && byte != backslash
      }
      return isPlain
    }
  }

  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  /// Appends UTF-8 with escapes for the characters that JSON requires, and for those that could control the terminal on which
  /// the line is shown.
  private static func appendEscaped(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
    var copied = 0
    var index = 0
    while index < bytes.count {
      let (scalar, length) = escaped(UnsafeBufferPointer(rebasing: bytes[index...]))
      if let scalar {
        output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[copied..<index]))
        appendEscape(of: scalar, to: &output)
        copied = index + length
      }
      index += length
    }
    output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[copied...]))
  }

  /// The first character if it must be escaped, otherwise nil, and its length in bytes.
  private static func escaped(_ bytes: UnsafeBufferPointer<UInt8>) -> (UInt16?, length: Int) {
    let scalar: UInt16
    let length: Int
    switch bytes[0] {
    case quote, backslash, 0x7f, 0x00..<0x20: return (UInt16(bytes[0]), 1)
    // The first bytes of every control character outside ASCII.
    case 0xc2 where bytes.count > 1, 0xd8 where bytes.count > 1:
      scalar = UInt16(bytes[0] & 0x1f) << 6 | UInt16(bytes[1] & 0x3f)
      length = 2
    case 0xe2 where bytes.count > 2:
      scalar = UInt16(bytes[0] & 0x0f) << 12 | UInt16(bytes[1] & 0x3f) << 6 | UInt16(bytes[2] & 0x3f)
      length = 3
    default: return (nil, 1)
    }
    let isControl = Unicode.Scalar(scalar).map(TerminalControl.contains) ?? false
    return (isControl ? scalar : nil, length)
  }

  private static func appendEscape(of character: UInt16, to output: inout [UInt8]) {
    switch UInt8(exactly: character) {
    case .some(quote), .some(backslash): output += [backslash, UInt8(truncatingIfNeeded: character)]
    case .some(UInt8(ascii: "\n")): output.append(literal: "\\n")
    case .some(UInt8(ascii: "\r")): output.append(literal: "\\r")
    case .some(UInt8(ascii: "\t")): output.append(literal: "\\t")
    default:
      let digits = String(character, radix: 16).utf8
      output.append(literal: "\\u")
      output += repeatElement(UInt8(ascii: "0"), count: 4 - digits.count)
      output += digits
    }
  }
}

extension [UInt8] {
  package mutating func append(literal text: StaticString) {
    text.withUTF8Buffer { append(contentsOf: $0) }
  }
}
