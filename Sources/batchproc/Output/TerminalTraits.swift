import BatchCore
import BatchEngine

/// What standard error can show.
struct TerminalTraits: Sendable {
  let isTerminal: Bool
  /// `TERM` names a terminal that understands more than plain text.
  let understandsEscapes: Bool
  /// `NO_COLOR` is set and not empty (no-color.org).
  let refusesColor: Bool

  init(isTerminal: Bool, environment: Environment) {
    let terminal = environment("TERM") ?? ""
    self.isTerminal = isTerminal
    self.understandsEscapes = isTerminal && !terminal.isEmpty && terminal != "dumb"
    self.refusesColor = environment("NO_COLOR")?.isEmpty == false
  }

  func usesColor(_ mode: ColorMode) -> Bool {
    switch mode {
    case .always: true
    case .never: false
    case .auto: understandsEscapes && !refusesColor
    }
  }

  /// The mode to use, which is never `auto`.
  func progress(_ mode: ProgressMode, quiet: Bool) -> ProgressMode {
    switch mode {
    case .auto: quiet || !understandsEscapes ? .none : .bar
    case .bar, .plain, .none: quiet ? .none : mode
    }
  }
}
