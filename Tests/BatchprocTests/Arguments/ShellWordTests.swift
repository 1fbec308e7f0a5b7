import BatchEngine
import Testing

@testable import batchproc

@Suite struct ShellWordTests {
  @Test func aPlainWordIsUnchanged() {
    #expect(ShellWord.quoted("/a-b_c.d+e@f:g,h=i%j9") == "/a-b_c.d+e@f:g,h=i%j9")
  }

  @Test(arguments: [
    ("", "''"), ("a b", "'a b'"), ("$x", "'$x'"), ("it's", #"'it'\''s'"#), ("a\nb", "'a\nb'"),
    // A quote with an accent behind it is one Character.
    ("a'\u{301};b'", #"'a'\''"# + "\u{301};b" + #"'\'"# + "''"), ("\u{e9}", "'\u{e9}'"),
  ])
  func othersAreQuoted(word: String, quoted: String) {
    #expect(ShellWord.bytes(PathBytes(word)) == Array(quoted.utf8))
  }

  @Test func bytesAreKept() {
    #expect(ShellWord.bytes(PathBytes([0x61, 0xff])) == [0x27, 0x61, 0xff, 0x27])
  }
}
