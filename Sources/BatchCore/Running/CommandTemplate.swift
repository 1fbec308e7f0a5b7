import BatchEngine
import BatchOutputs

/// The words of a command, in which names in braces stand for facts about a file.
///
/// `{}` is the path, `{name}` its last part, `{stem}` that part without its last suffix, `{dir}` the folder, `{path}` the path below
/// the operand, `{out}` the place of the output, `{n}` the number of the file. `{{` is a brace. Other braces stay as they are. No shell
/// is involved, so that a name can hold any byte.
package struct CommandTemplate: Sendable {
  private enum Field: String, CaseIterable {
    case whole = ""
    case name, stem, dir, path, out
    case number = "n"

    var spelling: [UInt8] { Array("{\(rawValue)}".utf8) }
    /// Whether it stands for a path, which must not look like an option.
    var isPath: Bool { self != .number }
    var tellsSource: Bool { self != .out }
  }

  private enum Piece {
    case text([UInt8])
    case field(Field)
  }

  private struct Word {
    var pieces: [Piece] = []

    var fields: [Field] {
      pieces.compactMap { if case .field(let field) = $0 { field } else { nil } }
    }
    /// Whether it is `{}` alone, which becomes as many words as there are paths.
    var isWhole: Bool { pieces.count == 1 && fields == [.whole] }
  }

  /// As they were given.
  package let words: [PathBytes]
  private let parts: [Word]
  /// Whether the command names the place of its output.
  package let namesOutput: Bool
  /// Whether a fact about the file other than `{out}` is among its words.
  package let namesSource: Bool
  /// The program, if it is the same for all files.
  package var program: PathBytes? { parts[0].fields.isEmpty ? PathBytes(text(of: parts[0])) : nil }

  /// - Parameters:
  ///   - words: the program and its arguments.
  ///   - appendsPath: whether the path is the last argument if no word stands for a fact.
  /// - Throws: `invalid` if there is no word, or one holds a NUL.
  package init(_ words: [PathBytes], appendsPath: Bool) throws(BatchError) {
    guard words.first?.isEmpty == false, !words.contains(where: \.containsNUL) else {
      throw BatchError(.invalid, "no command is given")
    }
    self.words = words
    var parts = words.map { Self.word($0.bytes[...]) }
    let fields = parts.flatMap(\.fields)
    if fields.isEmpty, appendsPath { parts.append(Word(pieces: [.field(.whole)])) }
    self.parts = parts
    namesOutput = fields.contains(.out)
    namesSource = parts.flatMap(\.fields).contains(where: \.tellsSource)
  }

  /// Whether one process can get several paths: each fact in the words is `{}` alone.
  package var takesSeveral: Bool {
    parts.dropFirst().allSatisfy { $0.isWhole || $0.fields.isEmpty } && parts[0].fields.isEmpty
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> Word {
    var (word, text, rest) = (Word(), [UInt8](), bytes)
    while let byte = rest.first {
      if rest.starts(with: "{{".utf8) {
        text.append(byte)
        rest = rest.dropFirst(2)
      } else if byte == UInt8(ascii: "{"),
        let field = Field.allCases.first(where: { rest.starts(with: $0.spelling) })
      {
        if !text.isEmpty { word.pieces.append(.text(text)) }
        text = []
        word.pieces.append(.field(field))
        rest = rest.dropFirst(field.spelling.count)
      } else {
        text.append(byte)
        rest = rest.dropFirst()
      }
    }
    if !text.isEmpty || word.pieces.isEmpty { word.pieces.append(.text(text)) }
    return word
  }

  private func text(of word: Word) -> [UInt8] {
    word.pieces.reduce(into: []) { if case .text(let text) = $1 { $0 += text } }
  }

  /// The facts about one file.
  package struct Values {
    package var path: PathBytes
    /// The path below the operand.
    package var below: PathBytes
    package var output: PathBytes?
    package var number: Int

    package init(path: PathBytes, below: PathBytes, output: PathBytes? = nil, number: Int) {
      (self.path, self.below, self.output, self.number) = (path, below, output, number)
    }

  }

  private func bytes(of field: Field, _ values: Values) -> [UInt8] {
    switch field {
    case .whole: values.path.bytes
    case .name: Array(values.path.lastComponent)
    case .stem: Array(OutputNaming.stem(of: values.path.lastComponent))
    case .dir: values.path.parent.bytes
    case .path: values.below.bytes
    case .out: values.output?.bytes ?? []
    case .number: Array(String(values.number).utf8)
    }
  }

  /// The arguments for one process, the first one being the program.
  ///
  /// - Parameter values: one or more; only the words `{}` get those after the first.
  package func arguments(for values: [Values]) -> [PathBytes] {
    guard let first = values.first else { return words }
    var arguments: [PathBytes] = []
    for word in parts {
      if word.isWhole {
        arguments += values.map { PathBytes(Self.harmless($0.path.bytes)) }
        continue
      }
      var bytes: [UInt8] = []
      for piece in word.pieces {
        switch piece {
        case .text(let text): bytes += text
        case .field(let field):
          let value = self.bytes(of: field, first)
          bytes += bytes.isEmpty && field.isPath ? Self.harmless(value) : value
        }
      }
      arguments.append(PathBytes(bytes))
    }
    if !parts[0].fields.isEmpty, !arguments[0].bytes.contains(UInt8(ascii: "/")) {
      arguments[0] = PathBytes(Array("./".utf8) + arguments[0].bytes)
    }
    return arguments
  }

  /// A path at the beginning of a word, which no program takes for an option.
  private static func harmless(_ path: [UInt8]) -> [UInt8] {
    path.first == UInt8(ascii: "-") ? Array("./".utf8) + path : path
  }
}
