import Foundation

/// Writes JSON (RFC 8259) as bytes, without values or strings in between.
public enum JSONText {
  /// Appends `"path":"…"`, or `"path_b64":"…"` when the bytes are not UTF-8.
  public static func append(path: PathBytes, to output: inout [UInt8]) {
    append(bytes: path.bytes, key: "path", to: &output)
  }

  /// Appends `"key":"…"`, or `"key_b64":"…"` with base64 (RFC 4648) when the bytes are not UTF-8.
  ///
  /// - Parameter key: a name that needs no escape.
  public static func append(bytes: [UInt8], key: StaticString, to output: inout [UInt8]) {
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
  public static func append(_ text: String, to output: inout [UInt8]) {
    output.append(quote)
    var text = text
    text.withUTF8 { appendEscaped($0, to: &output) }
    output.append(quote)
  }

  /// Appends a string literal with its quotes; appends nothing and says no when the bytes are not UTF-8.
  public static func append(_ bytes: [UInt8], to output: inout [UInt8]) -> Bool {
    guard (try? UTF8Span(validating: bytes.span)) != nil else { return false }
    output.append(quote)
    bytes.withUnsafeBufferPointer { appendEscaped($0, to: &output) }
    output.append(quote)
    return true
  }

  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  /// Appends UTF-8 with escapes for what JSON demands, and for DEL and the C1 controls, so that no
  /// name can steer the terminal that the line is shown on.
  private static func appendEscaped(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
    var copied = 0
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte >= 0x20, byte != quote, byte != backslash, byte != 0x7f, byte != 0xc2 {
        index += 1
        continue
      }
      var length = 1
      var control = byte
      if byte == 0xc2 {
        // U+0080 to U+00BF: only the first 32 of them are controls.
        length = 2
        guard index + 1 < bytes.count, bytes[index + 1] < 0xa0 else {
          index += length
          continue
        }
        control = bytes[index + 1]
      }
      output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[copied..<index]))
      appendEscape(of: control, to: &output)
      index += length
      copied = index
    }
    // `index` may stand behind the end of bytes that were cut within a character.
    output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[copied...]))
  }

  private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
    switch byte {
    case quote, backslash: output += [backslash, byte]
    case UInt8(ascii: "\n"): output.append(literal: "\\n")
    case UInt8(ascii: "\r"): output.append(literal: "\\r")
    case UInt8(ascii: "\t"): output.append(literal: "\\t")
    default:
      output.append(literal: "\\u00")
      output.append(Hexadecimal.digit(byte >> 4))
      output.append(Hexadecimal.digit(byte & 15))
    }
  }
}

extension [UInt8] {
  mutating func append(literal text: StaticString) {
    text.withUTF8Buffer { append(contentsOf: $0) }
  }
}
