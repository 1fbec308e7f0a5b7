import Synchronization

/// One run, for the program that starts it: its options, budgets, concurrency, counts, cancellation and observer.
///
/// The parts of a job do not get it: a worker gets a ``WorkerContext`` and a collector a ``CollectorContext``, which offer only
/// what the role may do.
public final class RunContext: Sendable {
  public let options: BatchOptions
  public let counters = Counters()
  public let cancellation: Cancellation
  /// How many operations run at once; no other place stores that number.
  public let concurrency: ConcurrencyLimit
  package let descriptors: DescriptorBudget
  package let memory: MemoryBudget
  package let filesInProgress: FilesInProgress
  /// The system calls that the run uses to read.
  package let calls: any FileSystemCalls
  package let observer: (any RunObserver)?
  /// Nil if the times of files are not needed.
  package let fileTimes: (any FileTimeObserver)?
  private let ended = Atomic<Bool>(false)
  /// Results that the collector keeps until others arrive.
  let keptResults = Atomic<Int>(0)

  /// - Parameters:
  ///   - options: concurrency, budgets and policy.
  ///   - cancellation: stops the run from outside, as a signal does.
  ///   - observer: receives every problem, in order.
  public convenience init(
    options: BatchOptions = BatchOptions(), cancellation: Cancellation = Cancellation(),
    observer: (any RunObserver)? = nil
  ) {
    self.init(options: options, cancellation: cancellation, observer: observer, fileTimes: nil)
  }

  /// - Parameter fileTimes: receives how long each file took.
  package convenience init(
    options: BatchOptions, cancellation: Cancellation, observer: (any RunObserver)?,
    fileTimes: (any FileTimeObserver)?
  ) {
    let isPaced = options.bytesPerSecond != nil || options.changesRate
    self.init(
      options: options, cancellation: cancellation, observer: observer, fileTimes: fileTimes,
      calls: isPaced
        ? PacedCalls(LinuxCalls(), bytesPerSecond: options.bytesPerSecond, cancellation: cancellation)
        : LinuxCalls())
  }

  package init(
    options: BatchOptions = BatchOptions(), cancellation: Cancellation = Cancellation(),
    observer: (any RunObserver)? = nil, fileTimes: (any FileTimeObserver)? = nil, calls: any FileSystemCalls
  ) {
    self.options = options
    self.fileTimes = fileTimes
    self.cancellation = cancellation
    self.observer = observer
    self.calls = calls
    filesInProgress = FilesInProgress()
    concurrency = ConcurrencyLimit(options.concurrency)
    descriptors = DescriptorBudget(capacity: options.descriptors)
    // Each page needs a token, so no more memory is counted than the lanes can use.
    memory = MemoryBudget(
      capacity: min(options.memory, FileReader.largeMemory * max(concurrency.current, 256)))
  }

  /// Another run that shares concurrency, budgets and cancellation, but has its own counts and observer.
  public convenience init(sharing run: RunContext, stride: ChunkStride, observer: (any RunObserver)?) {
    self.init(sharing: run, stride: stride, observer: observer, fileTimes: nil)
  }

  /// - Parameter fileTimes: receives how long each file took.
  package init(
    sharing run: RunContext, stride: ChunkStride, observer: (any RunObserver)?,
    fileTimes: (any FileTimeObserver)?
  ) {
    self.fileTimes = fileTimes
    var options = run.options
    options.stride = stride
    self.options = options
    cancellation = run.cancellation
    concurrency = run.concurrency
    descriptors = run.descriptors
    memory = run.memory
    filesInProgress = run.filesInProgress
    calls = run.calls
    self.observer = observer
  }

  /// Limits the bytes read a second; nil if this run has no limit and gets none.
  package var pace: PacedCalls? { calls as? PacedCalls }

  /// Lets the program read and decode outside of its runs.
  package var reading: ReadingRight { ReadingRight() }

  /// Lets the program commit, link and remove outside of its runs.
  package var commits: CommitRight { CommitRight() }

  /// The lane, its reader for large files, and its reader for folders.
  private static let threadsOfLane = 3

  /// How many of the wanted operations have enough descriptors and threads. Dispatch waits forever for a thread that it cannot
  /// start.
  package func affordable(_ wanted: Int) -> Int {
    guard !options.isSerial else { return 1 }
    let current = concurrency.current
    let wanted = min(wanted, max(current, descriptors.capacity / DescriptorBudget.tokensToRead))
    guard wanted > current else { return wanted }
    let threads = ThreadLimit.available(upTo: (wanted - current) * Self.threadsOfLane)
    return min(wanted, current + threads / Self.threadsOfLane)
  }

  /// Whether the collector takes no more results, so that workers need not begin further items.
  var isEnded: Bool { ended.load(ordering: .relaxed) }

  /// Asks the source for no further items.
  func end() { ended.store(true, ordering: .relaxed) }

  /// Opens folders with the calls of the run. Folders that stay open have their own share of the descriptors.
  package var folders: FolderOpener { FolderOpener(calls: calls, holding: descriptors.heldFolders) }

  /// A source of the files below some operands.
  ///
  /// - Parameters:
  ///   - operands: each is requested when the walk reaches it; `-` is standard input.
  ///   - walk: which files the walk takes.
  public func tree(
    _ operands: some Sequence<PathBytes>, options walk: WalkOptions = WalkOptions()
  ) -> TreeSource {
    let walker = TreeWalker(
      operands: operands, options: walk, descriptors: descriptors, calls: calls, concurrency: concurrency)
    return TreeSource(walker: walker, mostHoles: options.mostHoles)
  }

  /// A source of items that an earlier walk yielded.
  package func tree(of items: [WalkItem]) -> TreeSource {
    var rest = items[...]
    return tree { rest.popFirst().map { .item($0) } }
  }

  /// A source of what an earlier walk yielded.
  ///
  /// - Parameter next: the next step, nil at the end.
  package func tree(playing next: @escaping () -> Walked?) -> TreeSource {
    let none: [PathBytes] = []
    let walker = TreeWalker(
      operands: none, options: WalkOptions(), descriptors: descriptors, calls: calls)
    return TreeSource(walker: walker, mostHoles: options.mostHoles, known: next)
  }

  /// Reports a problem to the observer, without counting it.
  package func report(_ problem: Problem, severity: Severity) {
    counters.note(problem)
    observer?.met(problem, severity: severity)
  }

  /// Reports to the observer that the number of operations was changed; from any thread.
  package func report(_ change: ConcurrencyChange) { observer?.changed(change) }
}
