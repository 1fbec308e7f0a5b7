import BatchEngine
import Testing

@testable import batchproc

@Suite struct HTMLWriterTests {
  private func written(_ body: (inout HTMLWriter) -> Void) -> String {
    var writer = HTMLWriter()
    body(&writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test func escapesTextAndAttributes() {
    let page = written { $0.element("td", ["class": #"a"b'c<d>&"#], #"<script>alert("x")</script> & 'y'"#) }
    #expect(
      page == #"<td class="a&quot;b&#39;c&lt;d&gt;&amp;">&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; "#
        + "&amp; &#39;y&#39;</td>")
  }

  private static let names: [([UInt8], String)] = [
    ([0x61, 0x0a, 0x1b, 0x5b, 0x7f], #"a\n\x1b[\x7f"#), ([0xff, 0x62], #"\xffb"#), ([0x5c], #"\\"#),
    (Array("\u{202e}gpj".utf8), #"\xe2\x80\xaegpj"#), (Array("\u{2066}".utf8), #"\xe2\x81\xa6"#),
    // U+FFFF, U+FDD0 and U+1FFFE are not characters.
    (
      [0xef, 0xbf, 0xbf, 0xef, 0xb7, 0x90, 0xf0, 0x9f, 0xbf, 0xbe],
      #"\xef\xbf\xbf\xef\xb7\x90\xf0\x9f\xbf\xbe"#
    ),
    (Array("é漢".utf8), "é漢"), ([], ""),
  ]

  @Test func showsNamesWithoutControlCharacters() {
    for (bytes, shown) in Self.names {
      #expect(written { $0.name(PathBytes(bytes)) } == #"<bdi class="name">\#(shown)</bdi>"#)
    }
  }

  @Test func shortensLongNamesBetweenCharacters() {
    for shift in 0..<3 {
      let name = PathBytes(String(repeating: "x", count: shift) + String(repeating: "漢", count: 1300))
      let page = written { $0.name(name) }
      #expect(page.utf8.count < HTMLWriter.longestName + 60)
      #expect(page.contains("漢 \u{2026} 漢") && !page.contains("\\x"))
    }
    let bytes = written { $0.name(PathBytes([UInt8](repeating: 0x80, count: 5000))) }
    #expect(bytes.utf8.count < 4 * HTMLWriter.longestName + 60)
  }

  @Test func writesShapes() {
    #expect(written { $0.shape("path", ["d": "M0 0"]) } == #"<path d="M0 0"/>"#)
  }
}
