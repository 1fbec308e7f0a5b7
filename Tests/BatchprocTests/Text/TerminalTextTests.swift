import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct TerminalTextTests {
  @Test(arguments: [
    "", "plain", " ", "a b", "caf\u{e9}", "cafe\u{301}", "\u{65e5}\u{672c}", "\u{1f600}", "--help", "$(id)",
    "%s%n",
    "a'b\"c",
  ])
  func leavesPrintableTextAlone(name: String) {
    #expect(TerminalText.string(name.utf8) == name)
    #expect(TerminalText.escape(name.utf8) == Array(name.utf8))
  }

  @Test(arguments: [
    ("a\nb", #"a\nb"#), ("a\rb", #"a\rb"#), ("\t", #"\t"#), (#"a\nb"#, #"a\\nb"#), ("\u{1b}[2J", #"\x1b[2J"#),
    ("\u{1b}]0;pwn\u{7}", #"\x1b]0;pwn\x07"#), ("\u{0}", #"\x00"#), ("\u{7f}", #"\x7f"#),
    ("c1\u{9b}31m", #"c1\xc2\x9b31m"#), ("x\u{202e}gpj.sh", #"x\xe2\x80\xaegpj.sh"#),
    ("\u{200e}\u{200f}", #"\xe2\x80\x8e\xe2\x80\x8f"#), ("\u{2066}", #"\xe2\x81\xa6"#),
    ("\u{2069}", #"\xe2\x81\xa9"#), ("\u{61c}", #"\xd8\x9c"#), ("\u{2028}", #"\xe2\x80\xa8"#),
    ("\r\n", #"\r\n"#),
  ])
  func escapesControlSequences(name: String, shown: String) {
    #expect(TerminalText.string(name.utf8) == shown)
  }

  @Test(arguments: [
    ([0xff], #"\xff"#), ([0x6b, 0xfe], #"k\xfe"#), ([0x9b, 0x33], #"\x9b3"#), ([0xc3], #"\xc3"#),
    ([0xc3, 0x28], #"\xc3("#), ([0xe2, 0x82], #"\xe2\x82"#), ([0xc0, 0xaf], #"\xc0\xaf"#),
    ([0xed, 0xa0, 0x80], #"\xed\xa0\x80"#), ([0xf4, 0x90, 0x80, 0x80], #"\xf4\x90\x80\x80"#),
    ([0xe2, 0x82, 0xc3, 0xa9], #"\xe2\x82"# + "\u{e9}"), ([0xf0, 0x9f, 0x98, 0x1b], #"\xf0\x9f\x98\x1b"#),
  ])
  func escapesBytesThatAreNotUTF8(bytes: [UInt8], shown: String) {
    #expect(TerminalText.string(bytes) == shown)
  }

  @Test(arguments: [#"a\"#, #"\q"#, #"\x"#, #"\x1"#, #"\xg0"#, #"\x+1"#])
  func knowsWhatIsNoEscapedName(text: String) {
    #expect(TerminalText.unescape(Array(text.utf8)) == nil)
  }

  @Test("the name in a message is whole unless it is longer than any path, or a secret key") func names() {
    let path = Array(String(repeating: "abc/", count: 1024).utf8)
    #expect(TerminalText.name(path) == TerminalText.string(path))
    let long = TerminalText.name(path + Array("end\n".utf8))
    #expect(long.hasPrefix("abc/abc/") && long.hasSuffix(#"/abc/end\n"#), "\(long)")
    #expect(long.contains("[3300 bytes left out]") && long.utf8.count < 900, "\(long)")
    for key in ["AGE-SECRET-KEY-1QQ", "x=age-secret-key-1qq", "file AGE-Secret-Key-1Qq"] {
      #expect(TerminalText.name(Array(key.utf8)) == "AGE-SECRET-KEY-...")
    }
    for name in ["AGE-SECRET-KE", "age1qq", "", "a"] {
      #expect(TerminalText.name(Array(name.utf8)) == name)
    }
  }

  @Test func printsNoControlByte() {
    for first in 0...255 {
      for second in [0x00, 0x1b, 0x5c, 0x61, 0x80, 0x9b, 0xa0, 0xff] {
        let name = [UInt8(first), UInt8(second), 0x61]
        let shown = TerminalText.escape(name)
        #expect(TerminalText.unescape(shown) == name, "\(name)")
        #expect(!shown.contains { $0 < 0x20 || $0 == 0x7f }, "\(name)")
        let text = String(validating: shown, as: UTF8.self)
        #expect(text?.unicodeScalars.contains(where: TerminalControl.contains) == false, "\(name)")
      }
    }
  }

  /// Decoding the escapes gives the original bytes, so no two names look alike.
  @Test func isUnambiguous() throws {
    let names: [[UInt8]] =
      (1...255).map { [0x61, UInt8($0), 0x62] }
      + [#"\n"#, "\n", #"\\n"#, #"\x1b"#, "\u{1b}", "\\", "x\u{202e}", "\u{85}"].map { Array($0.utf8) }
    for name in names { #expect(unescaped(TerminalText.escape(name)) == name) }
    #expect(Set(names.map(TerminalText.escape)).count == names.count)
  }

  private func unescaped(_ bytes: [UInt8]) -> [UInt8] {
    var rest = bytes[...]
    var output: [UInt8] = []
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let kind = rest.popFirst() else {
        output.append(byte)
        continue
      }
      switch kind {
      case UInt8(ascii: "n"): output.append(10)
      case UInt8(ascii: "r"): output.append(13)
      case UInt8(ascii: "t"): output.append(9)
      case UInt8(ascii: "x"):
        output.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
        rest = rest.dropFirst(2)
      default: output.append(kind)
      }
    }
    return output
  }
}
