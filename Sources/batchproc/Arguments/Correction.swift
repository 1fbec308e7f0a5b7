import BatchEngine

/// The change that corrects an invalid command line.
struct Correction: Sendable, Hashable {
  private enum Change: Sendable, Hashable {
    /// Replaces a word, or the part before its `=`.
    case replace(PathBytes, by: [PathBytes])
    /// Inserts words after the name of the command; the operand is moved there.
    case insert([PathBytes], taking: PathBytes?, command: String)
    /// Inserts `--` before the operand that follows another one.
    case dashes(after: PathBytes, before: PathBytes)
    case line(String)
    case words([PathBytes])
  }

  private let change: Change

  /// Replaces a wrong word by one or more others.
  static func replace(_ wrong: some Collection<UInt8>, by right: String) -> Correction {
    Correction(
      change: .replace(PathBytes(Array(wrong)), by: right.split(separator: " ").map { PathBytes("\($0)") }))
  }

  /// Inserts a missing option.
  ///
  /// - Parameter operand: the operand that was meant as the value of the option.
  static func insert(_ words: [PathBytes], taking operand: PathBytes?, in command: CommandSpec) -> Correction
  {
    Correction(change: .insert(words, taking: operand, command: command.name))
  }

  /// Inserts the missing `--` before a command of the user.
  ///
  /// - Parameter operands: two or more, of which the second begins the command.
  static func dashes(among operands: [PathBytes]) -> Correction {
    Correction(change: .dashes(after: operands[0], before: operands[1]))
  }

  /// Whether it is a complete line, which does not depend on the given one.
  var isExample: Bool { if case .line = change { true } else { false } }

  /// A complete example line.
  static func example(_ line: String) -> Correction { Correction(change: .line(line)) }

  /// A complete line for this case.
  static func words(_ words: [PathBytes]) -> Correction { Correction(change: .words(words)) }

  /// The whole corrected line; nil if it is unknown or cannot be printed.
  func line(of arguments: [PathBytes]) -> String? {
    var words = arguments
    switch change {
    case .line(let line): return line
    case .words(let line): words = line
    case .dashes(let path, let program):
      guard !words.contains("--"), let first = words.firstIndex(of: path),
        let place = words[(first + 1)...].firstIndex(of: program)
      else { return nil }
      words.insert("--", at: place)
    case .replace(let wrong, let right):
      let equals = UInt8(ascii: "=")
      guard
        let index = words.firstIndex(where: {
          $0 == wrong || $0.bytes.starts(with: wrong.bytes + [equals])
        })
      else { return nil }
      var new = right
      let attached = words[index].bytes.dropFirst(wrong.bytes.count)
      if let last = new.last, Self.isPlaceholder(last) {
        new.removeLast()
        if !attached.isEmpty { new.append(PathBytes(Array(attached.dropFirst()))) }
      } else if !attached.isEmpty, let last = new.popLast() {
        new.append(PathBytes(last.bytes + attached))
      }
      words.replaceSubrange(index...index, with: new)
    case .insert(let new, let operand, let command):
      guard let place = words.firstIndex(of: PathBytes(command)) else { return nil }
      if let operand, let index = words[(place + 1)...].lastIndex(of: operand) { words.remove(at: index) }
      words.insert(contentsOf: new, at: place + 1)
    }
    guard words.allSatisfy({ TerminalText.name($0.bytes).utf8.elementsEqual($0.bytes) }) else { return nil }
    return (["batchproc"] + words.map(ShellWord.quoted)).joined(separator: " ")
  }

  /// Whether a word is a placeholder such as `N` or `FILE`, to be replaced by the next word.
  private static func isPlaceholder(_ word: PathBytes) -> Bool {
    !word.isEmpty && word.bytes.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }
}
