/// Shells that completion scripts are made for.
enum Shell: String, Sendable, CaseIterable {
  case bash, zsh, fish

  func completionScript(for table: CommandTable) -> String {
    switch self {
    case .bash: BashCompletion(table: table).script
    case .zsh: ZshCompletion(table: table).script
    case .fish: FishCompletion(table: table).script
    }
  }
}
