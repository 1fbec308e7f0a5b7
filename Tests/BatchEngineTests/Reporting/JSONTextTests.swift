import Foundation
import Testing

@testable import BatchEngine

@Suite struct JSONTextTests {
  private func literal(_ bytes: [UInt8]) -> String? {
    var output = Array("x".utf8)
    guard JSONText.append(bytes, to: &output) else {
      #expect(output == Array("x".utf8))
      return nil
    }
    return String(decoding: output.dropFirst(), as: UTF8.self)
  }

  @Test(arguments: [
    ("", #""""#), ("plain", #""plain""#), ("a\"b\\c", #""a\"b\\c""#), ("\n\r\t", #""\n\r\t""#),
    ("\u{0}\u{1b}\u{1f}\u{7f}", #""\u0000\u001b\u001f\u007f""#),
    ("\u{80}x\u{9f}\u{a0}", "\"\\u0080x\\u009f\u{a0}\""),
    ("\u{2028}é😀/\u{2030}", "\"\\u2028é😀/\u{2030}\""),
    ("\u{61c}\u{61d}\u{200e}\u{202e}\u{2069}", "\"\\u061c\u{61d}\\u200e\\u202e\\u2069\""),
  ])
  func escapesControlsAndMarksAlone(text: String, expected: String) {
    #expect(literal(Array(text.utf8)) == expected)
    var output = [UInt8]()
    JSONText.append(text, to: &output)
    #expect(String(decoding: output, as: UTF8.self) == expected)
  }

  @Test func anyCharacterSurvivesAnotherParser() throws {
    let scalars = (0..<0x3000).compactMap { Unicode.Scalar($0 as UInt32) }
    let text = String(String.UnicodeScalarView(scalars))
    var output = [UInt8]()
    JSONText.append(text, to: &output)
    let parsed = try JSONSerialization.jsonObject(with: Data(output), options: .fragmentsAllowed)
    #expect((parsed as? String).map { Array($0.utf8) } == Array(text.utf8))
  }

  @Test(
    arguments: [
      [0xff], [0xc2], [0x61, 0xc2], [0x80], [0xc0, 0xaf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82],
    ] as [[UInt8]])
  func refusesBytesThatAreNotUTF8(bytes: [UInt8]) {
    #expect(literal(bytes) == nil)
  }

  @Test func namesThatAreNotUTF8AreBase64UnderASeparateKey() {
    var output = [UInt8]()
    JSONText.append(path: "a\"b", to: &output)
    #expect(String(decoding: output, as: UTF8.self) == #""path":"a\"b""#)
    output = []
    JSONText.append(path: PathBytes([0x6b, 0xff, 0xfe, 0xfd]), to: &output)
    #expect(String(decoding: output, as: UTF8.self) == #""path_b64":"a//+/Q==""#)
    output = Array("{".utf8)
    JSONText.append(bytes: [0xff], key: "link", to: &output)
    #expect(String(decoding: output, as: UTF8.self) == #"{"link_b64":"/w==""#)
  }
}
