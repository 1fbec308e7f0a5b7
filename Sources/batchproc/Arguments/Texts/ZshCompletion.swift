/// The completion script for zsh, to be stored as `_batchproc` in a folder of `$fpath`.
struct ZshCompletion {
  let table: CommandTable

  var script: String {
    let commands = table.commands.map { "    \(quoted("\($0.name):\($0.abstract)"))" }
    return """
      #compdef batchproc
      \(Self.helpers)
      _batchproc() {
        local context state state_descr line
        typeset -A opt_args
        local -a commands
        commands=(
      \((commands + ["    'help:Show help information.'"]).joined(separator: "\n"))
        )
        _arguments -C \\
      \(table.rootOptions.flatMap { rows(of: $0, excluding: $0.syntax == nil ? "" : "(1 *)") }.joined(separator: "\n"))
          '1:command:->command' \\
          '*::argument:->argument'
        case $state in
        command)
          _describe -t commands command commands
          ;;
        argument)
          case $words[1] in
          help)
            _describe -t commands command commands
            ;;
      \(table.commands.map(commandCase).joined(separator: "\n"))
          esac
          ;;
        esac
      }

      if [[ $funcstack[1] == _batchproc ]]; then
        _batchproc "$@"
      else
        compdef _batchproc batchproc
      fi

      """
  }

  private func commandCase(_ command: CommandSpec) -> String {
    let operands = command.operands.map { operand in
      "      " + quoted("\(operand.repeats ? "*" : ""):\(operand.name):_files")
    }
    return """
          \(command.name))
            _arguments -s -S \\
      \((command.options.flatMap { rows(of: $0) } + [operands.joined(separator: " \\\n")]).joined(separator: "\n"))
            ;;
      """
  }

  /// - Parameter exclusion: the words that are not offered after the option; no commands after a profile, which has its own
  ///   command.
  private func rows(of option: OptionSpec, excluding exclusion: String = "") -> [String] {
    let repeats = option.isRepeatable ? "*" : ""
    let meaning = "[" + bracketed(option.help) + "]"
    let value =
      option.syntax.map { syntax in
        ":\(option.valueName ?? "value"):\(option.id.completion.map { " \($0)" } ?? action(syntax))"
      } ?? ""
    return option.spellings.map { spelling in
      let attachment = option.syntax == nil ? "" : (spelling.hasPrefix("--") ? "=" : "+")
      return "      " + quoted(exclusion + repeats + spelling + attachment + meaning + value) + " \\"
    }
  }

  /// Offer sets or ids of the directory of snapshots among the words, and names of profiles.
  private static let helpers = #"""
    _batchproc_snapshots() {
      local word
      local -a files found
      for word in $words; do
        word=${(Q)word/#\~\//$HOME/}
        [[ -d $word ]] || continue
        files=($word/*.manifest*(N))
        (( $#files )) || continue
        found+=(${(f)"$(batchproc snapshots --json -- $word 2>/dev/null | sed -n 's/.*"'$1'":"\([^"]*\)".*/\1/p' | sort -u)"})
      done
      compadd -a found
    }
    _batchproc_profiles() {
      local -a found
      found=(${(f)"$(sed -n 's/^\[profile \(.*\)\]$/\1/p' /etc/batchproc.conf ${XDG_CONFIG_HOME:-$HOME/.config}/batchproc/config 2>/dev/null)"})
      compadd -a found
    }
    """#

  private func action(_ syntax: ValueSyntax) -> String {
    switch syntax {
    case .file, .glob: return "_files"
    case .directory: return "_files -/"
    default:
      let values = syntax.suggestedValues.map { $0.replacing(":", with: "\\:") }
      return values.isEmpty ? " " : "(" + values.joined(separator: " ") + ")"
    }
  }

  private func bracketed(_ text: String) -> String {
    text.map { "[]\\:".contains($0) ? "\\\($0)" : String($0) }.joined()
  }

  private func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }
}
