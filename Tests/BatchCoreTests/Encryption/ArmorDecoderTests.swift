import BatchEngine
import Testing

@testable import BatchCore

@Suite("The armor of an encrypted file")
struct ArmorDecoderTests {
  private static let header = String(decoding: ArmorDecoder.header, as: UTF8.self)
  private static let footer = "-----END AGE ENCRYPTED FILE-----"
  /// A full line of 64 characters, which encode 48 bytes.
  private static let whole = String(repeating: "QUJD", count: 16)

  /// - Returns: nil if the armor is refused.
  private func content(_ text: String, piece: Int = .max) -> String? {
    var decoder = ArmorDecoder()
    var plain: [UInt8] = []
    var rest = Array(text.utf8)[...]
    do {
      while !rest.isEmpty {
        try decoder.add(rest.prefix(piece), to: &plain)
        rest = rest.dropFirst(piece)
      }
      try decoder.finish(to: &plain)
    } catch {
      return nil
    }
    return String(decoding: plain, as: UTF8.self)
  }

  @Test("is removed, with both kinds of line ends, and with blanks around it", arguments: ["\n", "\r\n"])
  func lines(end: String) {
    let abc = String(repeating: "ABC", count: 16)
    for (body, expected) in [
      ([Self.whole, "QUJD"], abc + "ABC"), ([Self.whole], abc), (["QQ=="], "A"), (["QUI="], "AB"),
      ([Self.whole, Self.whole, "QUJDQUI="], abc + abc + "ABCAB"), ([], ""),
    ] as [([String], String)] {
      let text = ([Self.header] + body + [Self.footer]).map { $0 + end }.joined()
      for piece in [1, 7, Int.max] {
        #expect(content(text, piece: piece) == expected)
        #expect(content(" \t \(end)" + text + "  \(end)\t", piece: piece) == expected)
        #expect(content(String(text.dropLast(1)), piece: piece) == expected, "the last line needs no end")
      }
    }
    #expect(content(String(repeating: " ", count: 500) + "\n" + Self.header + "\n" + Self.footer) == "")
  }

  @Test(
    "may have some white space around it, as in age, in one line or in many", arguments: [" ", "\n", "\r\n"])
  func space(unit: String) {
    let text = "\(Self.header)\nQUJD\n\(Self.footer)\n"
    func blanks(_ count: Int) -> String {
      // A line of blanks needs an end.
      unit == " "
        ? String(repeating: " ", count: count - 1) + "\n"
        : String(repeating: unit, count: count / unit.utf8.count)
    }
    for piece in [1, 7, Int.max] {
      #expect(content(blanks(1024) + text, piece: piece) == "ABC")
      #expect(content(blanks(1026) + text, piece: piece) == nil)
      #expect(content(text + blanks(1022), piece: piece) == "ABC")
      #expect(content(text + blanks(1024), piece: piece) == nil)
    }
  }

  @Test(
    "is refused when it does not have the strict form",
    arguments: [
      "", "\(header)\n", "\(header)\nQUJD\n", "x\n\(header)\nQUJD\n\(footer)\n",
      "\(header) \nQUJD\n\(footer)\n",
      "\(header)\nQUJD\n\(footer)\nmore\n", "\(header)\n\nQUJD\n\(footer)\n", "\(header)\nQUJ\n\(footer)\n",
      "\(header)\nQUJD\nQUJD\n\(footer)\n", "\(header)\nQQ==\nQUJD\n\(footer)\n",
      "\(header)\nQ===\n\(footer)\n",
      "\(header)\nQR==\n\(footer)\n", "\(header)\n\(whole)QUJD\n\(footer)\n", "\(header)\nQU D\n\(footer)\n",
      "\(header)\nQUJD\r\r\n\(footer)\n", "\(header)\nQUJD\n\(footer) \n", String(repeating: "x", count: 100),
      "\(header)\n" + String(repeating: "QUJD", count: 300),
    ])
  func refused(text: String) {
    for piece in [1, Int.max] { #expect(content(text, piece: piece) == nil) }
  }
}
