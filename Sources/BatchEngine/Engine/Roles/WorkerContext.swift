import Glibc

/// What a worker may do while it processes one chunk: read, decode, stage outputs, count, and report to its chunk.
///
/// It cannot name or remove files. It is valid only during the calls that process the chunk.
public final class WorkerContext {
  /// Lets the worker read and decode.
  package let reading = ReadingRight()
  private let run: RunContext
  private let lane: Lane
  private(set) var problems: [(Problem, Severity, position: Int)] = []
  /// Nil if times of files are not needed.
  private(set) var stopwatch: FileStopwatch?
  /// How many results the chunk has so far: the position of a problem among them. The runner updates it after each item; a
  /// worker that adds the results of several items at once updates it between them.
  package var resultCount = 0

  init(lane: Lane, run: RunContext) {
    self.lane = lane
    self.run = run
    if run.fileTimes != nil { stopwatch = FileStopwatch() }
    lane.heldTime = .zero
  }

  /// Starts the time of the next file, for workers whose items contain several files. Cheap if times are not needed.
  package func startTime() {
    lane.heldTime = .zero
    stopwatch?.start()
  }

  /// Stops the time of an item that is one file or a part of one.
  func endTime(of item: some Any) {
    leaveOutHeldTime()
    stopwatch?.endItem((item as? any FileItem)?.path)
  }

  package func endTime(of path: @autoclosure () -> PathBytes) {
    guard stopwatch != nil else { return }
    leaveOutHeldTime()
    stopwatch?.end(path())
  }

  /// Subtracts the time that the lane was held back from the time of the file.
  private func leaveOutHeldTime() {
    stopwatch?.leaveOut(lane.heldTime)
    lane.heldTime = .zero
  }

  /// Operations of the run at once. An operation that divides its own work must keep this limit too.
  package var concurrency: Int { run.concurrency.current }

  /// The limit that ``concurrency`` reads, for code that divides a file among threads.
  package var concurrencyLimit: ConcurrencyLimit { run.concurrency }

  package var calls: any FileSystemCalls { run.calls }
  package var folders: FolderOpener { run.folders }
  package var options: BatchOptions { run.options }
  package var cancellation: Cancellation { run.cancellation }

  /// Whether the collector takes no more results, so that the worker need not begin further items.
  package var isEnded: Bool { run.isEnded }

  private var policy: EventPolicy { run.options.policy }
  private var counters: Counters { run.counters }

  /// Waits while the run is suspended, or while the allowed number of other operations runs. Called before each item that takes
  /// long, and between its buffers.
  ///
  /// - Throws: the reason, when the run is to stop.
  public func checkCancellation() throws(BatchError) {
    if lane.gate.isCrowded { lane.pool?.pass(lane) }
    try cancellation.check()
  }

  /// The cancellation check for threads that help the lane with its item.
  package var probe: CancellationProbe { CancellationProbe(lane: lane, cancellation: cancellation) }

  /// The cancellation check for objects that the worker keeps from chunk to chunk, such as a codec.
  package var laneProbe: LaneProbe { LaneProbe(cancellation) }

  /// Reads a file to its end, with the retries of the policy, and counts it.
  ///
  /// - Parameters:
  ///   - record: the file, as the walk found it.
  ///   - isCounted: whether the file counts as done when it is read; otherwise ``finish()``, ``skip(_:)`` or
  ///     ``report(_:)`` follows.
  ///   - restart: called before the content, and again when reading starts over.
  ///   - consume: called with each piece of the content, in order.
  /// - Returns: nil when the content must not be used; the reason has been reported.
  /// - Throws: only what ends the run: its cancellation, or an error that `restart` or `consume` throws.
  public func read(
    _ record: FileRecord, isCounted: Bool = true, restart: () throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome? {
    try read(
      record, isCounted: isCounted,
      opened: { (_: borrowing Descriptor, _) throws(BatchError) in try restart() }, consume: consume)
  }

  /// Reads a file, and passes the open file to `opened` each time that reading starts.
  ///
  /// - Parameters:
  ///   - keepsShort: whether the content of a file that became shorter is used. The file counts as failed, even if `isCounted`
  ///     is false.
  ///   - room, settling: as in ``FileReader/read(_:into:settling:opened:consume:)``.
  ///   - beforeProblem: called before a problem is reported, for results that belong before it.
  package func read(
    _ record: FileRecord, isCounted: Bool = true, keepsShort: Bool = false,
    into room: UnsafeMutableRawBufferPointer? = nil, settling: ChangeSettling? = nil,
    beforeProblem: () throws(BatchError) -> Void = {},
    opened: (borrowing Descriptor, FileStatus) throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome? {
    var attempt = 0
    while true {
      try checkCancellation()
      var fatal: BatchError?
      let outcome: ReadOutcome
      do throws(BatchError) {
        outcome = try lane.reader.read(record, into: room, settling: settling) {
          (file: borrowing Descriptor, status) throws(BatchError) in
          do throws(BatchError) {
            try opened(file, status)
          } catch {
            fatal = error
            throw error
          }
        } consume: { (piece) throws(BatchError) in
          do throws(BatchError) {
            try checkCancellation()
            try consume(piece)
            counters.addBytes(piece.count)
          } catch {
            fatal = error
            throw error
          }
        }
      } catch {
        if let fatal { throw fatal }
        let problem = Problem(error)
        if attempt < policy.retries(after: problem.event) {
          attempt += 1
          continue
        }
        try beforeProblem()
        report(problem)
        return nil
      }
      if outcome.isStable {
        if isCounted { counters.addDone() }
        return outcome
      }
      guard attempt >= policy.retries(after: .changed) else {
        attempt += 1
        continue
      }
      try beforeProblem()
      return changed(outcome, record, isCounted, keepsShort: keepsShort)
    }
  }

  /// Reads a file again that has been read and counted before.
  ///
  /// - Returns: nil when it cannot be read or has changed; nothing is reported.
  public func reread(
    _ record: FileRecord, restart: () throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome? {
    do throws(BatchError) {
      return try lane.reader.read(record, restart: restart) { (piece) throws(BatchError) in
        try checkCancellation()
        try consume(piece)
      }
    } catch {
      try checkCancellation()
      return nil
    }
  }

  /// Reads parts of a file that has not changed since the walk saw it.
  ///
  /// - Parameters:
  ///   - record: the file, as the walk found it.
  ///   - ranges: within the size that the walk saw.
  ///   - buffer: receives the ranges one after the other; has exactly their total size.
  ///   - isCounted: whether the bytes are counted now; otherwise the collector counts those that are used.
  /// - Throws: `changed` when the file is not what it was, or another error with its path.
  public func read(
    _ record: FileRecord, ranges: [Range<UInt64>], into buffer: UnsafeMutableRawBufferPointer,
    isCounted: Bool = true
  ) throws(BatchError) {
    try checkCancellation()
    try lane.reader.read(record, ranges: ranges, into: buffer)
    if isCounted { counters.addBytes(buffer.count) } else { counters.addPending(buffer.count) }
  }

  package func status(of descriptor: Int32) throws(BatchError) -> FileStatus {
    try run.calls.status(of: descriptor)
  }

  /// Opens a file and passes its descriptor to `body`, as ``FileReader/withFile(_:_:)``.
  package func withFile<Result>(
    _ record: FileRecord, _ body: (Int32, FileStatus) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    try lane.reader.withFile(record, body)
  }

  /// Opens a file that stays open after the chunk; nil if too few descriptors are free.
  package func hold(_ record: FileRecord) throws(BatchError) -> HeldFile? {
    try lane.reader.hold(record, of: run.descriptors)
  }

  /// Passes the descriptor of the folder of a file to `body`, as ``FileReader/withFolder(of:_:)``.
  package func withFolder<Result>(
    of record: FileRecord, _ body: (Int32) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    try lane.reader.withFolder(of: record, body)
  }

  /// Reads the files of a folder through a descriptor from now on, as ``FileReader/useFolder(_:for:of:)``.
  package func useFolder(_ descriptor: Int32, for directory: DirectoryPath, of owner: AnyObject) {
    lane.reader.useFolder(descriptor, for: directory, of: owner)
  }

  package func closeFolder() { lane.reader.closeFolder() }

  /// Counts a file that changed while it was read, as the policy says.
  ///
  /// - Returns: whether the content is used.
  package func finishChanged(_ path: PathBytes) -> Bool {
    noteChange("changed while it was read", path, isCounted: true)
  }

  private func noteChange(_ message: String, _ path: PathBytes, isCounted: Bool) -> Bool {
    let severity = policy.severity(of: .changed)
    note(Problem(.changed, BatchError(.changed, message, path: path)), severity)
    if severity == .failure {
      counters.addFailed()
      return false
    }
    counters.addChanged()
    if isCounted { counters.addDone() }
    return true
  }

  /// Counts an item as processed without reading it.
  public func finish() {
    counters.addDone()
  }

  /// Counts bytes that were not read through the context.
  package func count(bytes: Int) {
    counters.addBytes(bytes)
  }

  /// Counts an item that needs no work.
  public func skip(_ reason: SkipReason) {
    counters.addSkipped(reason)
  }

  /// Reads standard input to its end and counts it as a file.
  ///
  /// - Returns: whether it could be read; the reason has been reported when not.
  public func readStandardInput(
    isCounted: Bool = true, consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Bool {
    try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: FileReader.bufferSize) {
      buffer throws(BatchError) in
      let reader = StreamReader(descriptor: STDIN_FILENO, cancellation: cancellation)
      while true {
        let count: Int
        do throws(BatchError) {
          count = try reader.read(into: UnsafeMutableRawBufferPointer(buffer))
        } catch {
          try checkCancellation()
          report(Problem(.unreadable, error.at("-")))
          return false
        }
        if count == 0 { break }
        try consume(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: buffer[..<count])))
        counters.addBytes(count)
      }
      if isCounted { counters.addDone() }
      return true
    }
  }

  /// Reports that a path could not be processed, and counts it as the policy says.
  ///
  /// - Returns: the severity.
  @discardableResult
  public func report(_ problem: Problem) -> Severity {
    let severity = policy.severity(of: problem.event)
    note(problem, severity)
    counters.count(problem, severity)
    return severity
  }

  /// Reports that a path could not be processed, and counts it as failed whatever the policy.
  package func fail(_ problem: Problem) {
    note(problem, .failure)
    counters.addFailed()
  }

  /// Reports a warning about a path without counting it.
  public func warn(_ problem: Problem) {
    note(problem, .warning)
  }

  /// Reports that a file which was read could not be used after all; it counts as failed and not as done.
  public func withdraw(_ problem: Problem) {
    note(problem, .failure)
    counters.withdrawDone()
  }

  private func note(_ problem: Problem, _ severity: Severity) {
    problems.append((problem, severity, position: resultCount))
  }

  private func changed(
    _ outcome: ReadOutcome, _ record: FileRecord, _ isCounted: Bool, keepsShort: Bool
  ) -> ReadOutcome? {
    if keepsShort, outcome.becameShorter, policy.severity(of: .changed) != .failure {
      let error = BatchError(
        .changed, "became shorter while it was read; what there was of it is kept", path: record.path)
      note(Problem(.changed, error), .failure)
      counters.addFailed()
      return outcome
    }
    let message =
      record.isPlanned ? "changed since it was planned, or while it was read" : "changed while it was read"
    return noteChange(message, record.path, isCounted: isCounted) ? outcome : nil
  }
}
