import BatchEngine
import BatchOutputs

extension Batch {
  /// How a command runs for each file.
  public struct RunOptions: Sendable {
    /// What becomes of the output of the command.
    public enum Output: Sendable, Hashable {
      /// No files are written; standard output of each child is reported.
      case none
      /// One file for each source, with a suffix added to the name, which may be empty if there is a folder. The command writes the
      /// file that `{out}` stands for; without `{out}` standard output is the content.
      case adding(suffix: PathBytes, directory: PathBytes? = nil)
      /// The same, with a suffix in place of the last one of the name. Of several sources with one output the first one gets it.
      case replacing(suffix: PathBytes, directory: PathBytes? = nil)
      /// The command gets a copy as `{}`, which replaces the source if the command succeeds and has changed it.
      case inPlace
    }

    public var settings = Settings()
    /// Selects the files below the paths.
    public var walk = WalkOptions()
    public var output = Output.none
    /// Processes every file again, and replaces outputs that were not made by a run.
    public var isForced = false
    /// Syncs outputs to the disk before they get their names.
    public var isSynced = true
    /// Whether the content of the file is standard input of the command; then no path is added to its words.
    public var passesContent = false
    /// The statuses that mean success, from 0 to 255.
    public var accepted: Set<Int32> = [0]
    /// Seconds after which the process group of a child gets TERM, and KILL 5 s later; nil for no limit.
    public var timeLimit: Double?
    /// Further tries of a child that failed, 0 or more.
    public var retries = 0
    /// The most paths of one child, 1 or more; outputs need 1.
    public var batch = 1
    /// No further child is started after so many failures; nil for no limit.
    public var mostFailures: Int?

    /// The defaults: no outputs, one child for each file.
    public init() {}
  }

  /// A child that ended, or a file that needed none.
  public struct RanCommand: Sendable {
    /// What became of the files of the child.
    public enum Result: Sendable {
      /// The child succeeded, and there is no output.
      case ran
      /// The output, or the file that was changed in place; its size in bytes.
      case written(PathBytes, size: Int64)
      /// The command left the copy of its source unchanged.
      case unchanged
      /// No child was needed.
      case upToDate
      case failed(BatchError)
    }

    /// The first file of the child.
    public let path: PathBytes
    /// How many files the child got.
    public let files: Int
    public let result: Result
    private let child: RanChild?

    init?(_ report: CommandReport) {
      (path, files, child) = (report.source, report.files, report.child)
      switch report.result {
      case .ran: result = .ran
      case .written(let target, let size, _): result = .written(target, size: size)
      case .unchanged: result = .unchanged
      case .upToDate: result = .upToDate
      case .failed(let error): result = .failed(error)
      case .planned: return nil
      }
    }

    /// The status with which the child ended; nil if it did not exit by itself.
    public var status: Int32? { if case .exit(let status) = child?.ending.status { status } else { nil } }
    /// The signal that ended the child; nil without one.
    public var signal: Int32? { if case .signal(let number) = child?.ending.status { number } else { nil } }
    /// From 1; 0 if no child was started.
    public var tries: Int { child?.tries ?? 0 }
    /// Seconds from the start to the end of the last try.
    public var seconds: Double { child?.ending.wall ?? 0 }
    /// Seconds of processor time of the last try.
    public var processorSeconds: Double { (child?.ending.user ?? 0) + (child?.ending.system ?? 0) }

    /// Standard output of the child, as far as it is not the content of an output.
    ///
    /// - Throws: `unwritable` if it did not fit into memory and could not be stored.
    public func standardOutput() throws(BatchError) -> [UInt8] { try Self.bytes(of: child?.ending.output) }

    /// Standard error of the child.
    ///
    /// - Throws: the same as ``standardOutput()``.
    public func standardError() throws(BatchError) -> [UInt8] { try Self.bytes(of: child?.ending.errors) }

    private static func bytes(of output: CapturedOutput?) throws(BatchError) -> [UInt8] {
      var bytes: [UInt8] = []
      try output?.forEach { bytes += $0 }
      return bytes
    }
  }

  /// Runs a command for each file, and for all files below folders, without a shell.
  ///
  /// In the words of the command `{}` stands for the path, `{name}`, `{stem}`, `{dir}`, `{path}`, `{out}` and `{n}` for other facts
  /// about the file, and `{{` for a brace. Without any of them the path is added. Outputs appear when their child has succeeded, and
  /// have owner, mode and time of their sources; a source whose output has its time, and was made by the same command, is skipped.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation. Children run in process groups of their own, and are killed
  /// with this process. They use memory and descriptors that do not count for the settings.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - command: the program, looked for in the folders of the variable `PATH`, and its arguments.
  ///   - options: what becomes of the output, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the children in the order of the tree, one call at a time, on a thread of the run. It must not wait for
  ///     the end of the call.
  /// - Returns: the counts, with the files whose child failed among the failures.
  /// - Throws: `invalid` for words that do not fit to the options, `missing` or `unreadable` if the program cannot be executed,
  ///   `exhausted` if the machine does not allow a run.
  public static func run(
    _ paths: [some PathName], _ command: [some PathName], _ options: RunOptions = RunOptions(),
    progress: Progress? = nil, each: (@Sendable (RanCommand) -> Void)? = nil
  ) async throws(BatchError) -> Report<Void> {
    let (paths, words) = (try paths.pathBytes(), try command.pathBytes())
    return try await BatchCall.perform(options.settings, progress: progress, details: ()) {
      (library) throws(BatchError) in
      let call = RunCall(try CommandOptions(words, options))
      try library.run(call, paths, options.walk.readingAheadIfFaster) { report in
        if let each, let ran = RanCommand(report) { each(ran) }
      }
    }
  }
}

extension CommandOptions {
  fileprivate init(_ words: [PathBytes], _ options: Batch.RunOptions) throws(BatchError) {
    let kind: Kind
    var naming: OutputNaming?
    switch options.output {
    case .none: kind = .passedOn
    case .inPlace: kind = .inPlace
    case .adding(let suffix, let directory):
      kind = .files
      guard directory == nil || !suffix.isEmpty else {
        naming = OutputNaming(.adding(suffix: suffix), directory: directory)
        break
      }
      try Batch.requireSuffix(suffix)
      naming = OutputNaming(.adding(suffix: suffix), directory: directory)
    case .replacing(let suffix, let directory):
      kind = .files
      try Batch.requireSuffix(suffix)
      naming = OutputNaming(.replacing(suffix: suffix), directory: directory)
    }
    self.init(
      try CommandTemplate(words, appendsPath: !options.passesContent), kind: kind, naming: naming,
      replacing: options.isForced ? .always : .older)
    outputs.isSynced = options.isSynced
    passesContent = options.passesContent
    accepted = options.accepted
    timeLimit = options.timeLimit
    retries = max(0, options.retries)
    batch = max(1, options.batch)
    mostFailures = options.mostFailures
    try check()
  }
}
