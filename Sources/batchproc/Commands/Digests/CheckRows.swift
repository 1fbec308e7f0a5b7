import BatchCore
import BatchEngine

/// Renders the results of a check, as coreutils prints them or as members of an event.
struct CheckRows: Sendable {
  enum Form: Sendable {
    case none
    /// `name: OK`.
    case lines
    /// `{"path":…,"outcome":…}`.
    case members
  }

  let form: Form
  let showsMatches: Bool
  /// Whether control bytes in names are escaped, as in messages.
  let escapesControls: Bool

  func append(_ entry: ManifestEntry, _ outcome: CheckOutcome, to bytes: inout [UInt8]) {
    switch form {
    case .none: break
    case .lines: appendLine(entry, outcome, to: &bytes)
    case .members:
      JSONLine.append(to: &bytes) { line in
        line.add(path: entry.path)
        line.add("outcome", outcome.rawValue)
      }
    }
  }

  private func appendLine(_ entry: ManifestEntry, _ outcome: CheckOutcome, to bytes: inout [UInt8]) {
    let verdict: StaticString
    switch outcome {
    case .matches where !showsMatches: return
    case .matches: verdict = ": OK"
    case .differs: verdict = ": FAILED"
    case .missing, .unreadable: verdict = ": FAILED open or read"
    }
    // Lines end in a newline even if those of the manifest end in NUL, as in coreutils.
    if escapesControls {
      var name: [UInt8] = []
      EscapedName.appendMarked(entry.path.bytes, to: &name)
      bytes += TerminalText.escapeControls(name)
    } else {
      EscapedName.appendMarked(entry.path.bytes, to: &bytes)
    }
    verdict.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\n"))
  }
}
