import BatchEngine

/// Text as one word of a shell.
enum ShellWord {
  static func quoted(_ path: PathBytes) -> String {
    let text = String(decoding: path.bytes, as: UTF8.self)
    guard !text.allSatisfy(isPlain) || text.isEmpty else { return text }
    return "'" + text.replacing("'", with: "'\\''") + "'"
  }

  /// Whether a character has no special meaning for a shell or systemd.
  static func isPlain(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || "/._-+@:,=%".contains(character))
  }
}
