import BatchEngine
import BatchOutputs
import Synchronization

/// A child of a run, from its preparation until it is collected. One thread at a time uses it: a lane prepares it, and a lane collects
/// it.
package final class RunChild: Sendable {
  /// A source as it was when the child was prepared.
  struct Source: Sendable {
    let plan: OutputPlan
    /// The folders, ready for the output.
    let place: OutputPlace
    let status: FileStatus
    let attributes: [ExtendedAttribute]
    /// The digest of the content, for a file that is changed in place.
    var digest: Digest?
  }

  /// Where the child writes.
  enum Target: Sendable {
    case none
    /// The output has its final name in a private folder.
    case folder(PrivateFolder, Source)
    /// Standard output is the content of the output.
    case file(AtomicFile, Source)
  }

  private struct State {
    var target = Target.none
    var tries = 0
    var input: ChildFile?
    var output: ChildFile?
    var arguments: [PathBytes] = []
  }

  let files: [RunFile]
  /// What its output replaces.
  let replacing: CommandReport.Replaced
  private let state: Mutex<State>

  init(_ files: [RunFile], replacing: CommandReport.Replaced) {
    (self.files, self.replacing) = (files, replacing)
    state = Mutex(State())
  }

  /// Identifies the child in the lines of standard error.
  var tag: Int { files.first?.number ?? 0 }
  var path: PathBytes { files.first?.record.path ?? PathBytes("") }
  var target: Target { state.withLock { $0.target } }
  var tries: Int { state.withLock { $0.tries } }
  var input: ChildFile? { state.withLock { $0.input } }
  var arguments: [PathBytes] { state.withLock { $0.arguments } }

  /// Sets what the next try of the child gets.
  ///
  /// - Parameters:
  ///   - input: standard input; nil for `/dev/null`.
  ///   - output: standard output; nil if it is captured.
  func prepare(_ target: Target, input: ChildFile?, output: ChildFile?) {
    state.withLock { state in
      (state.target, state.input, state.output) = (target, input, output)
      state.tries += 1
    }
  }

  /// Leaves the output to the stage, closes the descriptors, and removes what else the child wrote.
  func release() {
    state.withLock { state in (state.target, state.input, state.output) = (.none, nil, nil) }
  }

  /// Removes everything that the child wrote.
  func abandon() {
    if case .file(let file, _) = target { file.discard() }
    release()
  }

  /// The command of the next try.
  func command(program: PathBytes?, _ options: CommandOptions) -> ChildCommand {
    state.withLock { state in
      var (path, output) = (self.path, PathBytes?.none)
      if case .folder(let own, let source) = state.target {
        let inside = own.opened.path.appending(source.plan.target.lastComponent)
        if options.kind == .inPlace { path = inside } else { output = inside }
      }
      if case .file(let file, _) = state.target { output = file.target }
      let values = files.enumerated().map { $1.values(at: $0 == 0 ? path : $1.record.path, output: output) }
      state.arguments = options.template.arguments(for: values)
      var command = ChildCommand(program ?? state.arguments[0], state.arguments)
      command.environment =
        options.environment + [
          Self.variable("PATH", path), Self.variable("OUT", output ?? PathBytes("")),
          Self.variable("NUMBER", PathBytes(String(tag))),
          Self.variable("TRY", PathBytes(String(state.tries))),
        ]
      (command.input, command.output) = (state.input?.raw, state.output?.raw)
      command.timeLimit = options.timeLimit
      return command
    }
  }

  private static func variable(_ name: String, _ value: PathBytes) -> PathBytes {
    PathBytes(Array("BATCHPROC_\(name)=".utf8) + value.bytes)
  }
}
