import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// The recipes of the documents, run unchanged.
@Suite struct RecipeTests {
  private let t: TreeFixture
  private static let root = Repository.root

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir bin; ln -s \"$BP\" bin/batchproc")
    try t.file("bin/mail", "#!/bin/sh\ncat >\"mail\"\necho \"$2\" >subject\n")
    try t.shell("chmod +x bin/mail")
  }

  /// The commands of a document from the one that begins with `first` to `last`.
  private static func recipe(from first: String, to last: String) throws -> String {
    let text = try String(contentsOf: root.appendingPathComponent("docs/scripting.md"), encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0.hasPrefix("    $ " + first) })
    let end = try #require(lines[start...].firstIndex { $0 == "    > " + last })
    return lines[start...end].map { String($0.dropFirst(6)) }.joined(separator: "\n")
  }

  @Test("the mail about differing files contains no control byte, for any file names")
  func mailedReport() throws {
    let names = [
      "\u{1b}[2J\u{1b}]0;title\u{7}", "a\nb", "a\rb", "\u{9b}31m", "\u{202e}gpj", "\u{7f}", "caf\u{e9}",
      "back\\slash",
    ]
    for name in names { try t.file(PathBytes("photos/" + name), name) }
    try t.file(PathBytes(Array("photos/".utf8) + [0xff, 0x9b]), "x")
    let recipe = try Self.recipe(from: "batchproc check", to: "esac")
    for (change, subject) in [
      ("true", ""), ("for f in photos/*; do echo changed >\"$f\"; done", "photos differ"),
      ("rm -r photos", "photos differ"), ("mv photos.sha256 gone", "photos could not be checked"),
    ] {
      let run = try t.shell(
        """
        rm -f mail subject; PATH=$PWD/bin:$PATH; export PATH
        [ -e photos.sha256 ] || batchproc hash -q -o photos.sha256 photos
        \(change)
        \(recipe)
        cat subject 2>/dev/null
        """)
      #expect(run.text == (subject.isEmpty ? "" : subject + "\n"), "\(change): \(run.text)\(run.errorText)")
      let mail = String(decoding: t.content("mail") ?? [], as: UTF8.self)
      #expect(mail.isEmpty == subject.isEmpty)
      let controls = mail.unicodeScalars.filter { $0 != "\n" && TerminalControl.contains($0) }
      #expect(controls.isEmpty && !mail.unicodeScalars.contains("\u{fffd}"), "\(change): \(mail)")
      guard change.hasPrefix("for") else { continue }
      #expect(mail.contains(#"photos/\x1b[2J\x1b]0;title\x07: FAILED"#), "\(mail)")
      #expect(mail.contains("photos/caf\u{e9}: FAILED") && mail.contains(#"\photos/a\nb: FAILED"#), "\(mail)")
    }
  }

  @Test("rows of verify contain no control byte in a file or a pipe")
  func verifyRows() throws {
    try t.file(PathBytes("photos/\u{1b}[2J\u{9b}31m"), "x")
    let run = try t.shell(
      "$BP archive -q -o a.tar photos; echo y >>photos/*; $BP verify --against . a.tar | cat; $BP list -l a.tar"
    )
    #expect(run.text.contains(#"photos/\x1b[2J\xc2\x9b31m: MODIFIED"#), "\(run.text)")
    #expect(run.text.unicodeScalars.allSatisfy { $0 == "\n" || !TerminalControl.contains($0) }, "\(run.text)")
  }
}
