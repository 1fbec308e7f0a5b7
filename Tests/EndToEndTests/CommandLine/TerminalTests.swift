import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// The output on a terminal: a pseudo-terminal of 60 columns, driven by Python's pty.
@Suite(.enabled(if: Host.hasPython, "needs python3")) struct TerminalTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
    try t.file(
      "terminal.py",
      """
      import fcntl, os, pty, struct, sys, termios
      # The streams in the first argument are the terminal; the others are files.
      streams, command = sys.argv[1], sys.argv[2:]
      main, side = pty.openpty()
      fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 60, 0, 0))
      pid = os.fork()
      if pid == 0:
          os.setsid(); fcntl.ioctl(side, termios.TIOCSCTTY, 0)
          for number, letter in enumerate('ioe'):
              if letter in streams: os.dup2(side, number)
          os.execv(command[0], command)
      os.close(side)
      seen = b''
      while True:
          try: piece = os.read(main, 65536)
          except OSError: break
          if not piece: break
          seen += piece
      open('seen', 'wb').write(seen)
      sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
      """)
  }

  /// - Parameter streams: which streams are the terminal: i, o, e.
  private func onTerminal(
    _ streams: String, _ arguments: String, environment: [String: String] = ["TERM": "xterm"]
  ) throws -> (run: Outcome, seen: [UInt8]) {
    let run = try t.shell("python3 terminal.py \(streams) $BP \(arguments)", environment: environment)
    return (run, t.content("seen") ?? [])
  }

  private static let escape = UInt8(0x1b)

  @Test("the bar is never wider than the terminal, never goes back, and is erased at the end")
  func bar() throws {
    try t.shell("head -c 8M /dev/zero >t/large; head -c 4M /dev/zero >t/larger")
    // The rate makes the run last for some frames.
    let (run, seen) = try onTerminal("e", "hash --rate 8M t")
    #expect(run.status == 0)
    let text = String(decoding: seen, as: UTF8.self)
    let frames = text.components(separatedBy: "\r\u{1b}[K").dropFirst()
    #expect(frames.count >= 3, "\(text.debugDescription)")
    var last = -1
    for frame in frames.dropLast() {
      #expect(frame.utf8.count < 60, "\(frame)")
      guard let sign = frame.firstIndex(of: "%") else { continue }
      let percent = Int(frame[..<sign].suffix(3).filter(\.isNumber)) ?? -1
      #expect(percent >= last, "\(frame)")
      last = percent
    }
    #expect(last >= 0)
    let end = try #require(frames.last)
    #expect(end.hasPrefix("hashed 7 files"), "\(end)")
    #expect(!end.utf8.contains(Self.escape))
  }

  @Test(
    "without a terminal, on a dumb one, or when switched off, there is no bar and no escape sequence",
    arguments: [
      ("", "hash t", ["TERM": "xterm"]), ("e", "hash t", ["TERM": "dumb"]), ("e", "hash t", [:]),
      ("e", "hash --progress none --color never t", ["TERM": "xterm"]),
      ("e", "hash -q t nosuch", ["TERM": "xterm", "NO_COLOR": "1"]),
      ("e", "hash -q --color never nosuch t", ["TERM": "xterm"]),
    ] as [(String, String, [String: String])])
  func plain(streams: String, arguments: String, environment: [String: String]) throws {
    try t.shell("head -c 1500K /dev/zero >t/large")
    // The rate makes the run last long enough for a bar.
    let (run, seen) = try onTerminal(streams, arguments + " --rate 2M", environment: environment)
    #expect(!seen.contains(Self.escape), "\(seen)")
    #expect(!run.errors.contains(Self.escape))
    #expect(!run.output.contains(Self.escape))
  }

  @Test("messages are colored on a terminal or when requested, and not otherwise")
  func color() throws {
    #expect(try onTerminal("e", "hash -q nosuch").seen.contains(Self.escape))
    #expect(
      try onTerminal("e", "hash -q --color always nosuch", environment: ["NO_COLOR": "1"]).seen.contains(
        Self.escape))
    #expect(
      try t.batchproc("hash", "nosuch", environment: ["TERM": "xterm"]).errors.contains(Self.escape) == false)
    #expect(try t.batchproc("hash", "--color", "always", "nosuch").errors.contains(Self.escape))
  }

  @Test(
    "rows on a terminal contain no control sequence; the same rows in a file contain the original bytes")
  func rows() throws {
    for name in NameTests.nasty { try t.file(PathBytes("n").appending(name.bytes), name.bytes) }
    for arguments in [
      "hash -q n", "hash -q --dry-run n", "hash -q --json n", "hash -q --tag n", "check -q m", "check m",
    ] {
      if arguments.contains("m") { try t.file("m", try t.batchproc("hash", "n").output) }
      let (_, seen) = try onTerminal("o", arguments)
      let controls = seen.filter { ($0 < 0x20 && $0 != 0x0a && $0 != 0x0d) || $0 == 0x7f }
      #expect(controls.isEmpty, "\(arguments): \(controls)")
      let text = try #require(String(validating: seen, as: UTF8.self), "\(arguments)")
      #expect(
        !text.unicodeScalars.contains { (0x80...0x9f).contains($0.value) || $0.value == 0x202e },
        "\(arguments)")
    }
    #expect(try t.shell("$BP hash -q n | $BP check -q -").status == 0)
  }

  @Test("messages with names contain no control sequence")
  func messages() throws {
    try t.shell("mkdir n; cd n; for n in $'\\e[2J' $'c1\\xc2\\x9b31m' $'a\\rb'; do mkfifo \"$n\"; done")
    let (_, seen) = try onTerminal("oe", "hash -v --color never --progress none n")
    #expect(!seen.contains(Self.escape))
    #expect(String(decoding: seen, as: UTF8.self).contains(#"n/\x1b[2J: is a FIFO"#))
    #expect(String(decoding: seen, as: UTF8.self).contains(#"n/a\rb: is a FIFO"#))
  }

  @Test("a terminal that is named as the output gets no control sequence, and no archive")
  func namedTerminal() throws {
    try t.shell("mkdir n; cd n; for n in $'\\e[2J' $'a\\rb'; do echo x >\"$n\"; done")
    let (run, seen) = try onTerminal("e", "hash -q --progress none -o /dev/tty n")
    #expect(run.status == 0)
    #expect(!seen.contains(Self.escape))
    #expect(String(decoding: seen, as: UTF8.self).contains(#"n/\x1b[2J"#))
    let (refused, text) = try onTerminal("e", "archive -q --format tar -o /dev/tty n")
    #expect(refused.status == 1)
    #expect(String(decoding: text, as: UTF8.self).contains("an archive is not written to a terminal"))
    #expect(text.count < 300)
  }

  @Test("plain progress is printed as lines, with a rising percentage")
  func plainProgress() throws {
    try t.shell("head -c 2M /dev/zero >t/large")
    let run = try t.batchproc("hash", "--progress", "plain", "--rate", "4M", "t")
    let lines = run.errorText.split(separator: "\n")
    #expect(lines.last?.hasPrefix("hashed 6 files") == true)
    let percents = lines.dropLast().compactMap { Int($0.prefix { $0.isNumber }) }
    #expect(!percents.isEmpty && percents == percents.sorted(), "\(run.errorText)")
    #expect(percents.count == lines.count - 1, "\(run.errorText)")
    #expect(percents.count <= 10)
    #expect(!run.errors.contains(Self.escape))
  }
}
