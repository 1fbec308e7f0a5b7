import BatchEngine
import Glibc
import TestSupport
import Testing

/// The progress bar in terminals of different widths that change during a run. The tests read the screen of
/// tmux.
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

  /// The rows of the screen and of its history, without empty rows and without the numbers that fill the
  /// screen. The screen is filled because tmux scrolls a screen with empty rows when it becomes narrower, and
  /// a program cannot erase rows in the history.
  private func screen() throws -> [String] {
    let rows = try tmux("capture-pane -p -S -").text.split(separator: "\n").map(String.init)
    return Array(rows.drop { Int($0) != nil })
  }

  /// Waits for a part of the time in which the bar is drawn again.
  private static func pause() { usleep(30_000) }

  /// Waits until the screen meets the condition.
  private func waits(_ what: String, for condition: ([String]) -> Bool) throws {
    var last: [String] = []
    let came = try eventually {
      Self.pause()
      last = try screen()
      return condition(last)
    }
    try #require(came, "\(what): \(last)")
  }

  /// How often the bar was drawn so far. tmux reports a second change of the window only a quarter of a
  /// second after the first, so tmux and the program may know different widths for some frames.
  private var frames: Int {
    (t.content("frames") ?? []).split(separator: UInt8(ascii: "\r")).count
  }

  /// Waits for a few more frames.
  private func waitsForFrames() throws {
    let start = frames
    let came = eventually {
      Self.pause()
      return frames >= start + 3
    }
    try #require(came, "no frame")
  }

  /// Waits for a few more frames, and then for two rows, the second of which is a bar that fits.
  private func waitsForBar(columns: Int) throws {
    try waitsForFrames()
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
    // The summary may take several rows of a narrow screen.
    let summary = rows.dropFirst().dropLast().joined()
    #expect(summary.matches(of: /hashed/).count == 1, "\(rows)")
  }

  @Test(
    "in 40, 80 and 200 columns the bar takes one row, and nothing of it is left at the end",
    arguments: [40, 80, 200])
  func widths(columns: Int) throws {
    try inTerminal(columns: columns, "hash --control c t") {
      try waitsForBar(columns: columns)
      try waitsForEnd(files: 5)
    }
  }

  @Test("a window that changes its width during a run shows one bar in one row")
  func resized() throws {
    try inTerminal(columns: 200, "hash --control c t") {
      for columns in [80, 40, 120] {
        try resize(to: columns)
        try waitsForBar(columns: columns)
      }
      try waitsForEnd(files: 5)
    }
  }

  @Test("messages are above the bar, also in a window that became narrower")
  func messages() throws {
    try inTerminal(columns: 120, "hash -v --control c t") {
      try waits("bar") { $0.last?.contains("0%") == true }
      for (number, columns) in [30, 90].enumerated() {
        try resize(to: columns)
        try waitsForFrames()
        // An unknown line of the control file gives a message above the bar.
        try t.file("c", "pause\nwhat \(number)\n")
        try waits("message \(number)") { rows in
          rows.joined().matches(of: /'resume'/).count == number + 1 && rows.last?.contains("0%") == true
        }
      }
      let rows = try screen()
      #expect(rows.count { $0.contains("0%") } == 1, "\(rows)")
    }
  }

  @Test("a dumb terminal shows no bar")
  func dumb() throws {
    try inTerminal(columns: 80, "hash --control c t", term: "dumb") {
      try waits("start") { $0 == ["before"] }
      try waitsForEnd(files: 5)
      #expect(try screen().count == 3)
    }
  }
}
