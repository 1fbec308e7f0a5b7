import Synchronization

/// One run, for the program that makes it: its options and budgets, the concurrency, counts, cancellation and observer.
///
/// The parts of a job do not get it. A worker has a ``WorkerContext``, a collector a ``CollectorContext``, each with what its
/// role may do.
public final class RunContext: Sendable {
  public let options: BatchOptions
  public let counters = Counters()
  public let cancellation: Cancellation
  /// The one place that knows how many operations run at once.
  public let concurrency: ConcurrencyLimit
  package let descriptors: DescriptorBudget
  package let memory: MemoryBudget
  /// What the lanes are processing.
  package let filesInProgress: FilesInProgress
  /// The system calls by which everything in the run reads.
  package let calls: any FileSystemCalls
  private let observer: (any RunObserver)?
  /// Nil where times of files are not wanted.
  let fileTimes: (any FileTimeObserver)?
  private let services = Mutex<[ObjectIdentifier: any AnyObject & Sendable]>([:])
  private let ended = Atomic<Bool>(false)
  /// Results that the collector has taken and keeps until others are there.
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
    let calls: any FileSystemCalls = LinuxCalls()
    self.init(
      options: options, cancellation: cancellation, observer: observer, fileTimes: fileTimes,
      calls: options.bytesPerSecond.map {
        PacedCalls(calls, bytesPerSecond: $0, cancellation: cancellation)
      } ?? calls)
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
    // Memory that the lanes cannot use would still need a token for each page.
    memory = MemoryBudget(
      capacity: min(options.memory, FileReader.largeMemory * max(concurrency.current, 256)))
  }

  /// A further run with the same concurrency, budgets and cancellation, and counts and an observer of its own.
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

  /// Lets the program read and decode outside of its runs.
  package var reading: ReadingRight { ReadingRight() }

  /// Lets the program commit, link and remove outside of its runs.
  package var commits: CommitRight { CommitRight() }

  /// A lane, the reader of a large file beside it, and that of a folder.
  private static let threadsOfLane = 3

  /// How many of these operations have enough descriptors and threads: Dispatch waits for ever for a thread that cannot be
  /// started.
  package func affordable(_ wanted: Int) -> Int {
    guard !options.isSerial else { return 1 }
    let current = concurrency.current
    let wanted = min(wanted, max(current, descriptors.capacity / DescriptorBudget.tokensToRead))
    guard wanted > current else { return wanted }
    let threads = ThreadLimit.available(upTo: (wanted - current) * Self.threadsOfLane)
    return min(wanted, current + threads / Self.threadsOfLane)
  }

  /// Whether the collector takes no more results: workers need not begin what they have.
  var isEnded: Bool { ended.load(ordering: .relaxed) }

  /// Asks the source for no further items.
  func end() { ended.store(true, ordering: .relaxed) }

  /// Opens folders by the calls of the run; the descriptors of those that stay open are set apart from the others.
  package var folders: FolderOpener { FolderOpener(calls: calls, holding: descriptors.heldFolders) }

  /// The one object of a type that the workers and the collector of the run use together, such as the committer of
  /// outputs; made by the first of them that asks.
  func service<Service: AnyObject & Sendable, Failure: Error>(
    _ make: () throws(Failure) -> Service
  ) throws(Failure) -> Service {
    try services.withLock { (services) throws(Failure) in
      let key = ObjectIdentifier(Service.self)
      if let service = services[key] as? Service { return service }
      let service = try make()
      services[key] = service
      return service
    }
  }

  /// The files below some operands as a source.
  ///
  /// - Parameters:
  ///   - operands: asked for one at a time, as the walk gets there; `-` is standard input.
  ///   - walk: which files the walk takes.
  public func tree(
    _ operands: some Sequence<PathBytes>, options walk: WalkOptions = WalkOptions()
  ) -> TreeSource {
    var walker = TreeWalker(
      operands: operands, options: walk, descriptors: descriptors, calls: calls, concurrency: concurrency)
    walker.mostHoles = options.mostHoles
    return TreeSource(walker: walker)
  }

  /// What a walk yielded before, as a source.
  package func tree(of items: [WalkItem]) -> TreeSource {
    var rest = items[...]
    return tree { rest.popFirst() }
  }

  /// What a walk yielded before, as a source.
  ///
  /// - Parameter next: the next item, nil at the end.
  package func tree(playing next: @escaping () -> WalkItem?) -> TreeSource {
    let none: [PathBytes] = []
    var walker = TreeWalker(
      operands: none, options: WalkOptions(), descriptors: descriptors, calls: calls)
    walker.mostHoles = options.mostHoles
    return TreeSource(walker: walker, known: next)
  }

  /// Reports a problem to the observer without counting it.
  func report(_ problem: Problem, severity: Severity) {
    observer?.met(problem, severity: severity)
  }

  /// Reports to the observer that the number of operations was changed; from any thread.
  package func report(_ change: ConcurrencyChange) { observer?.changed(change) }
}
