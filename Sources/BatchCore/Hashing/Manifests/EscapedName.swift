import BatchEngine

/// Names in the lines of coreutils: if a name contains a newline, a carriage return or a backslash, the whole line begins with
/// a backslash, and `\n`, `\r`, `\\` replace these bytes.
package enum EscapedName {
  static let mark = UInt8(ascii: "\\")

  static func isNeeded(for name: [UInt8]) -> Bool {
    name.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") || $0 == mark }
  }

  static func append(_ name: [UInt8], isEscaped: Bool, to output: inout [UInt8]) {
    guard isEscaped else {
      output.append(contentsOf: name)
      return
    }
    for byte in name {
      switch byte {
      case UInt8(ascii: "\n"): output += [mark, UInt8(ascii: "n")]
      case UInt8(ascii: "\r"): output += [mark, UInt8(ascii: "r")]
      case mark: output += [mark, mark]
      default: output.append(byte)
      }
    }
  }

  /// Appends a name as at the start of a line of `sha256sum --check`: escaped and with the mark only if it contains a newline.
  package static func appendMarked(_ name: [UInt8], to output: inout [UInt8]) {
    let isEscaped = name.contains(UInt8(ascii: "\n"))
    if isEscaped { output.append(mark) }
    append(name, isEscaped: isEscaped, to: &output)
  }

  static func decode(_ name: ArraySlice<UInt8>) throws(MalformedLine) -> [UInt8] {
    var decoded = [UInt8]()
    decoded.reserveCapacity(name.count)
    var isEscape = false
    for byte in name {
      if isEscape {
        switch byte {
        case UInt8(ascii: "n"): decoded.append(UInt8(ascii: "\n"))
        case UInt8(ascii: "r"): decoded.append(UInt8(ascii: "\r"))
        case mark: decoded.append(mark)
        default: throw MalformedLine("an unknown escape in the name")
        }
        isEscape = false
      } else if byte == mark {
        isEscape = true
      } else {
        decoded.append(byte)
      }
    }
    guard !isEscape else { throw MalformedLine("an unfinished escape in the name") }
    return decoded
  }
}
