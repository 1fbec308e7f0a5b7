import BatchCore
import BatchEngine

/// Makes names safe to show: no file name can move the cursor, set a title, or change the direction of the text.
///
/// A backslash appears as `\\`, newline, carriage return and tab as `\n`, `\r`, `\t`, and each byte of other control
/// characters, of bidirectional controls, of line separators, and of invalid UTF-8 as `\x` and two hexadecimal digits. So
/// different names never look equal because of escapes, and `printf '%b'` restores the bytes.
enum TerminalText {
  static func escape(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    append(bytes, to: &output)
    return output
  }

  /// The longest name in a message, in bytes: that of a path which a system call accepts.
  private static let longestName = 4096
  private static let keptPart = 400
  private static let secretPrefix = Array("AGE-SECRET-KEY-".utf8)

  /// A name in a message: as ``string(_:)``, but of a very long one only its ends, and of a secret key only its kind.
  static func name(_ bytes: [UInt8]) -> String {
    if isSecret(bytes) { return "AGE-SECRET-KEY-..." }
    guard bytes.count > longestName else { return string(bytes) }
    let left = bytes.count - 2 * keptPart
    return "\(string(bytes.prefix(keptPart)))[\(left) bytes left out]\(string(bytes.suffix(keptPart)))"
  }

  /// Whether a text contains a secret key of age, which is never printed: messages are mailed and kept in logs.
  static func isSecret(_ bytes: [UInt8]) -> Bool {
    let first = secretPrefix[0] | 0x20
    return bytes.indices.contains { start in
      bytes[start] | 0x20 == first
        && bytes[start...].prefix(secretPrefix.count).elementsEqual(secretPrefix) { $0 & 0xdf == $1 & 0xdf }
    }
  }

  /// The escaped bytes as text; they are always UTF-8.
  static func string(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: escape(bytes), as: UTF8.self)
  }

  static func append(_ bytes: some Collection<UInt8>, to output: inout [UInt8]) {
    if bytes.allSatisfy(isPlain) {
      output += bytes
      return
    }
    var rest = bytes[...]
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    while true {
      let length: Int
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded):
        length = encoded.count
        let scalar = Unicode.UTF8.decode(encoded)
        if scalar == "\\" || TerminalControl.contains(scalar) {
          rest.prefix(length).forEach { appendEscape(of: $0, to: &output) }
        } else {
          output += rest.prefix(length)
        }
      case .error(let count):
        length = count
        rest.prefix(length).forEach { appendEscape(of: $0, to: &output) }
      case .emptyInput:
        return
      }
      rest = rest.dropFirst(length)
    }
  }

  /// The bytes of an escaped name; nil for a backslash that begins no escape.
  static func unescape(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
      case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
      case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
      case UInt8(ascii: "x"):
        let digits = rest.prefix(2)
        guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
          let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        bytes.append(code)
        rest = rest.dropFirst(2)
      default: return nil
      }
    }
    return bytes
  }

  /// Makes lines safe for a terminal: control characters are escaped as by ``escape(_:)``; newlines and backslashes are kept,
  /// because rows escape those themselves.
  @Sendable static func escapeControls(_ bytes: [UInt8]) -> [UInt8] {
    if bytes.allSatisfy({ isPlain($0) || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\\") }) {
      return bytes
    }
    var output: [UInt8] = []
    for piece in bytes.split(omittingEmptySubsequences: false, whereSeparator: isKept) {
      append(piece, to: &output)
      if piece.endIndex < bytes.endIndex { output.append(bytes[piece.endIndex]) }
    }
    return output
  }

  private static func isKept(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\\")
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20...0x7e).contains(byte) && byte != UInt8(ascii: "\\")
  }

  private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "\\"): output += #"\\"#.utf8
    case UInt8(ascii: "\n"): output += #"\n"#.utf8
    case UInt8(ascii: "\r"): output += #"\r"#.utf8
    case UInt8(ascii: "\t"): output += #"\t"#.utf8
    default:
      let digits = String(byte, radix: 16)
      output += ((digits.utf8.count == 1 ? #"\x0"# : #"\x"#) + digits).utf8
    }
  }
}
