@testable import BatchCore
@testable import BatchEngine

/// Names that each program that writes lists of names must handle.
enum HostileNames {
  static let withoutNewline: [PathBytes] = [
    "plain", "cr\rinside", "cr at end\r", "\r", "back\\slash", "\\", "\\n literal", "end\\", "\u{1b}[31mred",
    "-rf", "--help", "-", " ", "   ", " lead", "trail ", "\t", "a,b", "a=b", "#a", "%%%% a", "a) = b", "(a",
    "()",
    "*?[a]", "\"quoted\"", "{\"path\":1}", "caf\u{e9}", "cafe\u{301}", "\u{85}", "\u{7f}", "\u{2028}",
    "%s%n%@", "type=dir", "..a", "SHA256 (a) = 00", PathBytes([0x6b, 0xff]), PathBytes([0xc2]),
    PathBytes([0xed, 0xa0, 0x80]), PathBytes([UInt8](repeating: UInt8(ascii: "n"), count: 255)),
    PathBytes([UInt8](repeating: 0xfe, count: 255)),
  ]

  static let withNewline: [PathBytes] = ["new\nline", "\n", "\n\n", "a\\\nb", "\r\n", "x\n..y"]

  /// All valid names of one byte.
  static let single: [PathBytes] = (1...255).filter { $0 != 0x2e && $0 != 0x2f }.map { PathBytes([$0]) }

  static let all = Array(Set(withoutNewline + withNewline + single)).sorted()
}
