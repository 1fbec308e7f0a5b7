import BatchCore
import BatchEngine
import Synchronization

/// Messages on standard error, one line each, with a status line below them.
///
/// Safe to call from any thread; lines never mix. A failed write is ignored: there is no other place to report it.
final class Diagnostics: Sendable {
  enum Severity: Sendable {
    case error, warning, note
  }

  private let descriptor: Int32
  private let usesColor: Bool
  private let usesPriorities: Bool
  private let columns: @Sendable () -> Int
  /// The current status line at the bottom of the terminal; empty when there is none.
  private let status = Mutex<[UInt8]>([])

  /// - Parameters:
  ///   - descriptor: must stay open as long as the object exists, which does not close it.
  ///   - usesPriorities: whether each line begins with its priority, in the format of the journal.
  ///   - columns: the width of the terminal, which may change at any time.
  init(
    descriptor: Int32, usesColor: Bool, usesPriorities: Bool = false,
    columns: @escaping @Sendable () -> Int = { StandardStreams.columns }
  ) {
    self.columns = columns
    self.descriptor = descriptor
    self.usesColor = usesColor
    self.usesPriorities = usesPriorities
  }

  /// Prints `batchproc: name: what failed: what the system said (remedy)`.
  func report(_ error: BatchError, as severity: Severity = .error) {
    var text: [UInt8] = []
    if let path = error.path {
      text += (path.isEmpty ? "''" : TerminalText.name(path.bytes)).utf8
      text += ": ".utf8
    }
    TerminalText.append(error.message.utf8, to: &text)
    if let reason = error.systemMessage { text += ": \(reason)".utf8 }
    if let remedy = error.remedy {
      text += " (".utf8
      TerminalText.append(remedy.text.utf8, to: &text)
      text += ")".utf8
    }
    write(text, severity)
  }

  /// Prints a message of the program itself; control bytes in it are escaped.
  func report(_ message: String, as severity: Severity = .error) {
    write(TerminalText.escape(message.utf8), severity)
  }

  /// Prints a warning that is already escaped.
  func print(warning text: String) { write(Array(text.utf8), .warning) }

  /// Prints lines that are already escaped, such as a usage error or the summary.
  func print(_ text: String) {
    writeAboveStatus(prefix(nil) + Array(text.utf8) + (text.hasSuffix("\n") ? [] : [UInt8(ascii: "\n")]))
  }

  /// Draws or replaces the status line; an empty line removes it.
  ///
  /// - Parameter line: printable ASCII; the last column of the terminal is not used.
  func show(status line: [UInt8]) {
    status.withLock { status in
      guard !line.isEmpty || !status.isEmpty else { return }
      let erasure = erase(status)
      status = Array(line.prefix(max(1, columns() - 1)))
      writeAll(erasure + status)
    }
  }

  private func write(_ text: [UInt8], _ severity: Severity) {
    let (program, word): (String, String) =
      switch severity {
      case .error: (colored("batchproc:", 31), "")
      case .warning: ("batchproc:", " " + colored("warning:", 33))
      case .note: ("batchproc:", "")
      }
    let line = Array("\(program)\(word) ".utf8) + text + [UInt8(ascii: "\n")]
    writeAboveStatus(prefix(severity) + line)
  }

  /// The syslog(3) priority prefix of a line: for errors, warnings, notices, and other lines.
  private func prefix(_ severity: Severity?) -> [UInt8] {
    guard usesPriorities else { return [] }
    let number =
      switch severity {
      case .error: 3
      case .warning: 4
      case .note: 5
      case nil: 6
      }
    return Array("<\(number)>".utf8)
  }

  private func colored(_ word: String, _ code: Int) -> String {
    usesColor ? "\u{1b}[1;\(code)m\(word)\u{1b}[0m" : word
  }

  private func writeAboveStatus(_ line: [UInt8]) {
    status.withLock { status in
      guard !status.isEmpty else { return writeAll(line) }
      let erasure = erase(status)
      status = Array(status.prefix(max(1, columns() - 1)))
      writeAll(erasure + line + status)
    }
  }

  /// Removes a status line, even one that was broken into several rows when the window became narrower.
  ///
  /// Row by row: some terminals move a screen that is erased as a whole into their scrollback.
  private func erase(_ status: [UInt8]) -> [UInt8] {
    let above = max(0, status.count - 1) / max(1, columns())
    return Array(("\r\u{1b}[K" + String(repeating: "\u{1b}[A\u{1b}[K", count: above)).utf8)
  }

  private func writeAll(_ bytes: [UInt8]) { StandardStreams.write(bytes, to: descriptor) }
}
