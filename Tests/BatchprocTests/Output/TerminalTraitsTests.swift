import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct TerminalTraitsTests {
  private func traits(
    _ isTerminal: Bool, term: String? = "xterm", noColor: String? = nil
  ) -> TerminalTraits {
    TerminalTraits(isTerminal: isTerminal) { name in
      switch name {
      case "TERM": term.map { PathBytes($0) }
      case "NO_COLOR": noColor.map { PathBytes($0) }
      default: nil
      }
    }
  }

  @Test func colorsTerminalsOnly() {
    #expect(traits(true).usesColor(.auto))
    #expect(!traits(false).usesColor(.auto))
    #expect(!traits(true, term: "dumb").usesColor(.auto))
    #expect(!traits(true, term: nil).usesColor(.auto))
    #expect(!traits(true, noColor: "1").usesColor(.auto))
    #expect(traits(true, noColor: "").usesColor(.auto))
  }

  @Test func theOptionOverridesTheTerminal() {
    #expect(traits(false, term: "dumb", noColor: "1").usesColor(.always))
    #expect(!traits(true).usesColor(.never))
  }

  @Test func drawsABarOnTerminalsOnly() {
    #expect(traits(true).progress(.auto, quiet: false) == .bar)
    #expect(traits(true).progress(.auto, quiet: true) == .none)
    #expect(traits(false).progress(.auto, quiet: false) == .none)
    #expect(traits(true, term: "dumb").progress(.auto, quiet: false) == .none)
    #expect(traits(false).progress(.plain, quiet: false) == .plain)
    #expect(traits(false).progress(.plain, quiet: true) == .none)
  }
}
