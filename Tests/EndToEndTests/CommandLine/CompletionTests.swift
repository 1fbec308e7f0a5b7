import BatchEngine
import Foundation
import TestSupport
import Testing

/// Shell completions offer sets, ids and profiles instead of the files of the directory.
@Suite(.timeLimit(.minutes(1))) struct CompletionTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file(
      "home/.config/batchproc/config", "[profile nightly]\ncommand = hash\n[profile weekly]\ncommand = hash\n"
    )
    let made = try t.shell(
      """
      chmod -R go-w home; mkdir src bin; echo x >src/x; ln -s $BP bin/batchproc; for n in etc home; do $BP backup -q --to bk --name $n src; done
      for s in bash fish zsh; do $BP --generate-completion-script $s >script.$s; done
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  private static let questions = [
    ("restore bk --name ", "etc home"), ("snapshots bk --list 2", "ID"), ("restore --at ", ""),
    ("--profile n", "nightly"), ("backup --to bk --name h", "home"), ("snapshots bk --diff ", "ID"),
  ]

  private func expect(_ text: String, _ offers: String, _ words: String) throws {
    let id = try t.shell("ls bk/*.manifest.zst | head -n 1 | grep -o '[0-9]*T[0-9]*Z'").text
      .trimmingCharacters(in: .whitespacesAndNewlines)
    let found = Set(
      text.split(whereSeparator: \.isWhitespace).map { $0.hasPrefix("2") ? String($0.prefix(8)) : String($0) }
    )
    let expected = Set(offers.split(separator: " ").map { $0 == "ID" ? String(id.prefix(8)) : String($0) })
    #expect(found == expected, "\(words): \(text)")
  }

  @Test("bash offers sets, ids and profiles")
  func bash() throws {
    for (words, offers) in Self.questions {
      let list =
        words.split(separator: " ").map { "'\($0)'" }.joined(separator: " ")
        + (words.hasSuffix(" ") ? " ''" : "")
      let run = try t.shell(
        """
        export PATH=$PWD/bin:$PATH HOME=$PWD/home; unset XDG_CONFIG_HOME; . ./script.bash
        COMP_WORDS=(batchproc \(list)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _batchproc; echo "${COMPREPLY[*]}"
        """)
      try expect(run.text, offers, words)
    }
  }

  @Test(
    "fish offers sets, ids and profiles", .enabled(if: (try? Outcome(shell: "command -v fish"))?.status == 0))
  func fish() throws {
    for (words, offers) in Self.questions {
      let run = try t.shell(
        """
        export PATH=$PWD/bin:$PATH HOME=$PWD/home TERM=dumb
        unset XDG_CONFIG_HOME
        fish -c "source script.fish; complete -C 'batchproc \(words)'" | cut -f 1
        """)
      try expect(run.text, offers, words)
    }
  }
}
