import BatchEngine
import BatchOutputs
import func Glibc.getenv
import func Glibc.strlen

/// What a run of a command does with each file.
package struct CommandOptions: Sendable {
  /// What becomes of the output of the command.
  package enum Kind: Sendable, Hashable {
    /// Standard output is passed on.
    case passedOn
    /// One file for each source.
    case files
    /// The source is replaced by a changed copy.
    case inPlace
  }

  package let template: CommandTemplate
  package let kind: Kind
  /// The names of the outputs, and how they are written.
  package var outputs: OutputOptions
  /// Whether the content of the file is the standard input of the command.
  package var passesContent = false
  /// The statuses of success.
  package var accepted: Set<Int32> = [0]
  /// Seconds until a child is stopped; nil for no limit.
  package var timeLimit: Double?
  /// How many further tries a failed child gets.
  package var retries = 0
  /// Seconds before a further try.
  package var pause = 1.0
  /// The most paths of one child; 1 or more.
  package var batch = 1
  /// The run ends after so many failures; nil for no limit.
  package var mostFailures: Int?
  /// `NAME=value`, in addition to the variables of this process.
  package var environment: [PathBytes] = []
  /// Where the program is looked for: the variable `PATH`; nil if it is not set.
  package var searchPath = getenv("PATH").map {
    PathBytes(UnsafeRawBufferPointer(start: $0, count: strlen($0)))
  }
  /// The folder of the file for what children print, if memory is not enough.
  package var temporary: PathBytes = "/tmp"
  /// Receives standard error of the children at once, in whole lines, with the first path of the child; nil keeps it until the child is
  /// reported. Called on one thread of the run.
  package var liveErrors: (@Sendable (_ path: PathBytes, _ lines: [UInt8]) -> Void)?
  /// How many children there may be at once, those included that wait for their start or are not collected; set before the run.
  package var mostChildren = 2

  /// - Parameters:
  ///   - naming: the names of the outputs; nil without outputs.
  ///   - replacing: with `Replacing.always` each file is processed again.
  package init(
    _ template: CommandTemplate, kind: Kind, naming: OutputNaming? = nil, replacing: Replacing = .older
  ) {
    self.template = template
    self.kind = kind
    outputs = OutputOptions(
      naming: naming ?? OutputNaming(.adding(suffix: PathBytes("")), directory: nil),
      recognizing: OutputOptions.Recognition(length: 1) { _ in true })
    outputs.replacing = replacing
  }

  /// Checks that the words of the command fit to what is done with each file.
  ///
  /// - Throws: `invalid` if they do not.
  package func check() throws(BatchError) {
    if template.namesOutput, kind != .files {
      throw BatchError(
        .invalid,
        kind == .inPlace
          ? "{out} has no meaning for a command that changes files in place: it changes {}"
          : "{out} stands for the output of a file, and there are no outputs")
    }
    guard template.namesSource || passesContent else {
      throw BatchError(.invalid, "the command does not name the file: {} is missing")
    }
    guard template.namesSource || kind != .inPlace else {
      throw BatchError(.invalid, "the command changes {} in place, and {} is not among its words")
    }
    guard batch > 1 else { return }
    guard kind == .passedOn, !passesContent else {
      throw BatchError(
        .invalid, "a child of several files can have no outputs, and no file as standard input")
    }
    guard template.takesSeveral else {
      throw BatchError(
        .invalid, "for several files {} has to be a word of its own, and no other fact can be used")
    }
  }

  /// Whether standard output of the command is the content of the output.
  package var writesStandardOutput: Bool { kind == .files && !template.namesOutput }

  /// The mark of the outputs.
  ///
  /// - Throws: an error of the library of digests.
  func mark() throws(BatchError) -> CommandMark {
    var bytes: [UInt8] = []
    for word in template.words { bytes += word.bytes + [0] }
    bytes += "\n\(passesContent) \(accepted.sorted()) \(kind)".utf8
    return CommandMark(digest: Array(try Digest.sha256(of: bytes).hex.utf8))
  }
}
