import BatchEngine
import TestSupport
import Testing

/// The bar in terminals of different widths, which change while a run goes on: the screen of tmux is looked at.
@Suite(.enabled(if: Host.hasTmux, "needs tmux"), .timeLimit(.minutes(2))) struct ResizedTerminalTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
    try t.file("c", "pause\n")
    try t.file("run", "seq 50\necho before\n\"$BP\" \"$@\" >out\necho \"status $?\"\nexec cat\n")
  }

  private func tmux(_ arguments: String, _ environment: [String: String] = [:]) throws -> Outcome {
    try t.shell(
      "export TMUX_TMPDIR=$PWD LC_ALL=C.UTF-8; exec tmux -f /dev/null -L s \(arguments)",
      environment: environment)
  }

  /// Starts a command in a terminal and calls `body`; the terminal ends after it.
  private func inTerminal(
    columns: Int, _ command: String, term: String = "screen", _ body: () throws -> Void
  ) throws {
    let start = try tmux(
      "new-session -d -x \(columns) -y 24 \"TERM=\(term) exec bash ./run \(command)\"")
    try #require(start.status == 0, "\(start.errorText)")
    defer { _ = try? tmux("kill-server") }
    try #require(try tmux("pipe-pane 'cat >>frames'").status == 0)
    try body()
  }

  /// What is on the screen and was scrolled off it, without empty rows, behind the numbers with which it is filled: a
  /// screen with empty rows is scrolled by tmux as well when it becomes narrower, and nobody can erase what is off it.
  private func screen() throws -> [String] {
    let rows = try tmux("capture-pane -p -S -").text.split(separator: "\n").map(String.init)
    return Array(rows.drop { Int($0) != nil })
  }

  /// Waits until the screen shows what is expected.
  private func waits(_ what: String, for condition: ([String]) -> Bool) throws {
    var last: [String] = []
    let came = try eventually {
      last = try screen()
      return condition(last)
    }
    try #require(came, "\(what): \(last)")
  }

  /// How often the bar was drawn so far. tmux tells a program of a second change of the window only a quarter of a second
  /// after the first, so that it takes some frames until both know the same width.
  private var frames: Int {
    (t.content("frames") ?? []).split(separator: UInt8(ascii: "\r")).count
  }

  /// Two rows, the second of which is a bar that fits, after it was drawn some more times.
  private func waitsForBar(columns: Int) throws {
    let start = frames
    try #require(eventually { frames >= start + 3 }, "no frame")
    try waits("bar of \(columns)") { rows in
      rows.count == 2 && rows[0] == "before" && rows[1].contains("0%") && rows[1].utf8.count < columns
    }
  }

  private func resize(to columns: Int) throws {
    try #require(try tmux("resize-window -x \(columns)").status == 0)
  }

  private func waitsForEnd(files: Int) throws {
    try t.file("c", "resume\n")
    try waits("end") { $0.last == "status 0" }
    let rows = try screen()
    #expect(
      rows.first == "before" && rows.dropFirst().first?.hasPrefix("hashed \(files) files") == true, "\(rows)")
    #expect(!rows.contains { $0.contains("[-") || $0.contains("0%") || $0.contains("elapsed") }, "\(rows)")
    // A row of the screen, or the summary in as many as it needs.
    let summary = rows.dropFirst().dropLast().joined()
    #expect(summary.matches(of: /hashed/).count == 1, "\(rows)")
  }

  @Test(
    "of 40, 80 and 200 columns: the bar takes one row, and nothing of it is left", arguments: [40, 80, 200])
  func widths(columns: Int) throws {
    try inTerminal(columns: columns, "hash --control c t") {
      try waitsForBar(columns: columns)
      try waitsForEnd(files: 5)
    }
  }

  @Test("a window that becomes narrower and wider while a run goes on keeps one row of one bar")
  func resized() throws {
    try inTerminal(columns: 200, "hash --control c t") {
      for columns in [80, 40, 120] {
        try resize(to: columns)
        try waitsForBar(columns: columns)
      }
      try waitsForEnd(files: 5)
    }
  }

  @Test("messages stand above the bar, also in a window that became narrower")
  func messages() throws {
    try inTerminal(columns: 120, "hash -v --control c t") {
      try waits("bar") { $0.last?.contains("0%") == true }
      for (number, columns) in [30, 90].enumerated() {
        try resize(to: columns)
        let start = frames
        try #require(eventually { frames >= start + 3 })
        // A line that says nothing is named, above the bar.
        try t.file("c", "pause\nwhat \(number)\n")
        try waits("message \(number)") { rows in
          rows.joined().matches(of: /'resume'/).count == number + 1 && rows.last?.contains("0%") == true
        }
      }
      let rows = try screen()
      #expect(rows.count { $0.contains("0%") } == 1, "\(rows)")
    }
  }

  @Test("a terminal that is dumb shows no bar")
  func dumb() throws {
    try inTerminal(columns: 80, "hash --control c t", term: "dumb") {
      try waits("start") { $0 == ["before"] }
      try waitsForEnd(files: 5)
      #expect(try screen().count == 3)
    }
  }
}
