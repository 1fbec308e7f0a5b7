import BatchCore
import BatchEngine
import Foundation
import Testing

@testable import batchproc

@Suite struct JSONLineTests {
  private func text(_ line: JSONLine) -> String { String(decoding: line.finished(), as: UTF8.self) }

  @Test func beginsWithTypeSchemaAndSequence() {
    #expect(text(JSONLine("summary", sequence: 7)) == #"{"type":"summary","schema":2,"seq":7}"# + "\n")
  }

  @Test func holdsEachKindOfValue() {
    var line = JSONLine("file", sequence: 0)
    line.add("size", Int64.max)
    line.add("ok", true)
    line.add("seconds", 0.5)
    line.add("ratio", Double.nan)
    line.add("name", "a\"b\\c")
    let members = #""size":9223372036854775807,"ok":true,"seconds":0.5,"ratio":null,"name":"a\"b\\c""#
    #expect(text(line) == #"{"type":"file","schema":2,"seq":0,"# + members + "}\n")
  }

  @Test func givesPathsAsTextOrInBase64() {
    var line = JSONLine("f", sequence: 0)
    line.add(path: "t/caf\u{e9}")
    line.add(path: PathBytes([0x6b, 0xff]), as: "target")
    #expect(text(line).hasSuffix(#""path":"t/caf\#u{e9}","target_b64":"a/8="}"# + "\n"))
  }

  @Test(arguments: [
    "\u{0}", "\u{1b}[2J", "\u{7f}", "c1\u{9b}", "x\u{202e}y", "\n\r\t", "\u{2028}", "\u{2066}", "\u{8}\u{c}",
    "\u{1f600}", "\"\\/", "\u{fffe}",
  ])
  func escapesControlsAndKeepsTheText(name: String) throws {
    var line = JSONLine("f", sequence: 0)
    line.add(path: PathBytes(name))
    let bytes = line.finished()
    let shown = String(decoding: bytes.dropLast(), as: UTF8.self)
    #expect(!shown.unicodeScalars.contains(where: TerminalControl.contains))
    let members = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    #expect((members?["path"] as? String).map { Array($0.utf8) } == Array(name.utf8))
  }

  @Test func describesErrors() {
    var line = JSONLine("error", sequence: 1)
    line.add(error: BatchError.syscall("open", errno: 24, path: "x"))
    #expect(
      text(line)
        == #"{"type":"error","schema":2,"seq":1,"code":"exhausted","message":"cannot open","errno":24,"#
        + #""reason":"Too many open files","remedy":"raise `ulimit -n`, or lower --max-open-files","path":"x"}"#
        + "\n")
  }

  @Test func encodesBase64AsFoundationDoes() {
    for count in 1...70 {
      // The first byte cannot begin a character, so none of the names is UTF-8.
      let bytes = [0xff] + (1..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 200) }
      var line = JSONLine("f", sequence: 0)
      line.add(path: PathBytes(bytes))
      #expect(text(line).hasSuffix(#","path_b64":"\#(Data(bytes).base64EncodedString())"}"# + "\n"))
    }
  }
}
