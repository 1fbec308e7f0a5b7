import BatchEngine

/// The completion script for bash 4 and later; needs no bash-completion package.
struct BashCompletion {
  let table: CommandTable

  var script: String {
    """
    # bash completion for batchproc
    _batchproc() {
      local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
      local command='' index
      COMPREPLY=()
      # Bash makes three words of --name=value.
      if [[ $current == '=' ]]; then
        current=''
      elif [[ $previous == '=' && COMP_CWORD -gt 2 ]]; then
        previous=${COMP_WORDS[COMP_CWORD-2]}
      fi
      for ((index = 1; index < COMP_CWORD; index++)); do
        case ${COMP_WORDS[index]} in
        \(table.valuedSpellings.joined(separator: "|")))
          # Nothing is known of what follows the value: a profile has its command.
          [[ ${COMP_WORDS[index+1]} != '=' ]] || ((++index))
          ((++index < COMP_CWORD)) && return
          ;;
        -*) ;;
        *) command=${COMP_WORDS[index]}; break ;;
        esac
      done
      case $command in
      '')
    \(values(of: table.rootOptions))
        _batchproc_words \(quoted(words(of: table.rootOptions) + commandNames + ["help"]))
        ;;
      help)
        _batchproc_words \(quoted(commandNames))
        ;;
    \(table.commands.map(commandCase).joined(separator: "\n"))
      esac
    }

    _batchproc_words() {
      local IFS=$' \\t\\n'
      COMPREPLY=($(compgen -W "$1" -- "$current"))
    }

    \(Self.helpers)

    complete -o bashdefault -o default -F _batchproc batchproc

    """
  }

  private var commandNames: [String] { table.commands.map(\.name) }

  /// When the function returns no reply, the shell offers files.
  private func commandCase(_ command: CommandSpec) -> String {
    """
      \(command.name))
    \(values(of: command.options))
        if [[ $current == -* ]]; then
          _batchproc_words \(quoted(words(of: command.options)))
        fi
        ;;
    """
  }

  private func values(of options: [OptionSpec]) -> String {
    let cases = options.compactMap { option in
      option.syntax.map { syntax in
        "    \(option.spellings.joined(separator: "|"))) \(option.id.completion.map { "\($0); return" } ?? action(syntax)) ;;"
      }
    }
    return (["    case $previous in"] + cases + actionsOfEvents(options) + ["    esac"])
      .joined(separator: "\n")
  }

  /// Offer sets or ids of the directory of snapshots among the words, and names of profiles.
  private static let helpers = #"""
    _batchproc_snapshots() {
      local word folder=''
      for word in "${COMP_WORDS[@]:1}"; do
        word=${word/#\~\//$HOME/}
        [[ -d $word ]] && compgen -G "$word/*.manifest*" >/dev/null && folder=$word
      done
      [[ -n $folder ]] || return
      _batchproc_words "$(batchproc snapshots --json -- "$folder" 2>/dev/null | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' | sort -u)"
    }

    _batchproc_profiles() {
      _batchproc_words "$(sed -n 's/^\[profile \(.*\)\]$/\1/p' /etc/batchproc.conf "${XDG_CONFIG_HOME:-$HOME/.config}/batchproc/config" 2>/dev/null)"
    }
    """#

  private func action(_ syntax: ValueSyntax) -> String {
    switch syntax {
    case .file, .glob: "return"
    case .directory: "compopt -o dirnames 2>/dev/null; return"
    default: "_batchproc_words \(quoted(syntax.suggestedValues)); return"
    }
  }

  /// After `--on vanished=`, the word before the equals sign is the event.
  private func actionsOfEvents(_ options: [OptionSpec]) -> [String] {
    guard options.contains(where: { $0.syntax == .policy }) else { return [] }
    let events = Problem.Event.choosable.map(\.rawValue).joined(separator: "|")
    return ["    \(events)) _batchproc_words \(quoted(EventPolicy.Action.examples)); return ;;"]
  }

  private func words(of options: [OptionSpec]) -> [String] { options.flatMap(\.spellings) }

  private func quoted(_ words: [String]) -> String { "'" + words.joined(separator: " ") + "'" }
}
