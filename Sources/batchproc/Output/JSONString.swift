/// Strings of JSON (RFC 8259) with everything escaped that a terminal would obey.
enum JSONString {
  /// Appends the text of UTF-8 bytes between quotes; bytes that are not UTF-8 become U+FFFD.
  static func append(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    for scalar in String(decoding: Array(bytes), as: UTF8.self).unicodeScalars {
      switch scalar {
      case "\"": output += #"\""#.utf8
      case "\\": output += #"\\"#.utf8
      case "\n": output += #"\n"#.utf8
      case "\r": output += #"\r"#.utf8
      case "\t": output += #"\t"#.utf8
      case _ where TerminalText.isControl(scalar): appendEscape(of: scalar, to: &output)
      default: output += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
      }
    }
    output.append(UInt8(ascii: "\""))
  }

  /// All controls are in the Basic Multilingual Plane, so one escape of four digits does.
  private static func appendEscape(of scalar: Unicode.Scalar, to output: inout [UInt8]) {
    let digits = String(scalar.value, radix: 16)
    output += (#"\u"# + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits).utf8
  }
}
