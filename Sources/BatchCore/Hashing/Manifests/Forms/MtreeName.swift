import BatchEngine

/// Names in mtree files: words in which vis(3) has escaped blanks, control characters and marks.
enum MtreeName {
  /// Whether a byte needs no escape. In addition to what libarchive escapes, `*`, `?` and `[` are escaped, because BSD's mtree
  /// would treat them as patterns.
  static func isSafe(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7f && !isMark(byte) }

  private static func isMark(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "#"), UInt8(ascii: "="), UInt8(ascii: "\\"), UInt8(ascii: "*"), UInt8(ascii: "?"),
      UInt8(ascii: "["):
      true
    default: false
    }
  }

  /// Whether a line with this first word is a command, not an entry.
  static func isCommand(_ word: ArraySlice<UInt8>) -> Bool {
    word.elementsEqual("/set".utf8) || word.elementsEqual("/unset".utf8)
  }

  static func appendOctal(_ byte: UInt8, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\\"))
    for shift in [6, 3, 0] as [UInt8] { output.append(UInt8(ascii: "0") + (byte >> shift & 7)) }
  }

  /// Decodes a word: a backslash is followed by three octal digits, a C escape letter, `s` for a space, or a mark that stands
  /// for itself.
  static func decode(_ word: ArraySlice<UInt8>) throws(MalformedLine) -> [UInt8] {
    var decoded = [UInt8]()
    decoded.reserveCapacity(word.count)
    var rest = word
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        decoded.append(byte)
        continue
      }
      let octal = rest.prefix(3)
      if octal.count == 3, octal.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "7") }) {
        let value = octal.reduce(UInt16(0)) { $0 << 3 | UInt16($1 & 7) }
        guard let value = UInt8(exactly: value) else { throw MalformedLine("an escape above \\377") }
        decoded.append(value)
        rest = rest.dropFirst(3)
        continue
      }
      guard let letter = rest.popFirst(), let value = meaning(of: letter) else {
        throw MalformedLine("an unknown escape in the name")
      }
      decoded.append(value)
    }
    return decoded
  }

  private static func meaning(of letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "a"): 0x07
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0c
    case UInt8(ascii: "n"): 0x0a
    case UInt8(ascii: "r"): 0x0d
    case UInt8(ascii: "s"): 0x20
    case UInt8(ascii: "t"): 0x09
    case UInt8(ascii: "v"): 0x0b
    default: isMark(letter) ? letter : nil
    }
  }
}
