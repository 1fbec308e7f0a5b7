/// The resources that a run was asked to use, and how many of them the machine allows.
package struct RunLimits: Sendable {
  /// Operations at once, 1 or more; nil lets the run find the number.
  package var concurrency: Int?
  /// The number that an earlier measurement found to be best for the device; nil if unknown.
  package var savedConcurrency: Int?
  /// Items of one operation, 1 or more; nil decides by their number and bytes.
  package var stride: Int?
  /// Descriptors for files; nil for as many as ``descriptors`` allows.
  package var openFiles: Int?
  /// Memory in bytes for buffers and indexes; nil for a quarter of the memory that the process may use.
  package var memory: Int64?
  /// The most bytes of holes that a file may have to be read; nil for the default of ``BatchOptions/mostHoles``.
  package var mostHoles: Int64?
  /// The largest number of bytes to read per second; nil for no limit.
  package var bytesPerSecond: Int64?
  package var policy = EventPolicy()
  /// The path whose device is examined; nil if there is none.
  package var firstOperand: PathBytes?
  /// Whether something changes the number of operations, or the bytes read a second, during the run.
  package var isSteered = false
  /// Whether one operation at a time may run on the thread of the caller.
  package var mayRunOnCaller = true
  /// The limit of the process, without the descriptors that others use.
  package var descriptors: DescriptorLimit

  /// One operation may need up to this fraction (1 / n) of the memory at once; with less memory it would wait forever.
  private static let largestShareOfMemory: UInt64 = 4
  private static let mostLanes = 4096
  /// Threads for signals, admission, results, progress, counting, load, memory and the thread watch, and those of Dispatch itself.
  private static let threadsOfRun = 10
  /// The lane, and the thread that reads a large file for it.
  private static let threadsOfLane = 2
  /// Address space for each thread: its stack, and its share of other memory.
  private static let memoryOfThread = 8 << 20
  private static let memoryOfRun = 16 << 20
  private static let memoryOfLane = 4 << 20

  package init(descriptors: DescriptorLimit) {
    self.descriptors = descriptors
  }

  /// The options of a run within these limits.
  ///
  /// - Parameters:
  ///   - capacity: the limits of the machine.
  ///   - laneMemory: the most bytes that one operation needs.
  /// - Throws: `exhausted` when the process may open too few files, or start too few threads.
  package func options(
    _ capacity: Capacity, laneMemory: Int = 0
  ) throws(BatchError) -> BatchOptions {
    var options = BatchOptions()
    let allowed = try descriptors.budget()
    let most = max(allowed, Int(clamping: descriptors.soft) - Int(DescriptorLimit.reserve))
    // Not more than the lanes and the walk can use, because each descriptor needs a token.
    options.descriptors = min(openFiles ?? allowed, most, 2 * DescriptorBudget.tokensToRead * Self.mostLanes)
    // More lanes than descriptors would only wait for each other.
    let lanes = max(1, options.descriptors / DescriptorBudget.tokensToRead)
    let bounds = ConcurrencyBounds(
      capacity, descriptors: options.descriptors, descriptorsOfLane: DescriptorBudget.tokensToRead,
      memoryOfLane: laneMemory)
    let wanted = concurrency ?? savedConcurrency.map { min($0, bounds.most) } ?? bounds.start
    options.concurrency = try fitting(laneMemory, try lowered(min(wanted, lanes, Self.mostLanes)))
    options.processors = capacity.processors
    options.isConcurrencyCareful =
      concurrency == nil
      && (savedConcurrency != nil || firstOperand.map { DeviceFacts.isRotational($0) } ?? false)
    if concurrency == nil || isSteered {
      options.mostConcurrency =
        AddressSpace.isLimited ? try fitting(laneMemory, bounds.most) : bounds.most
    }
    options.runsOnCaller = concurrency == 1 && mayRunOnCaller && !isSteered
    if let stride { options.stride = .fixed(stride) }
    if let mostHoles { options.mostHoles = UInt64(clamping: mostHoles) }
    if let memory {
      options.memory = Int(clamping: memory)
      options.givenMemory = options.memory
    } else if let memory = capacity.memory {
      options.memory = Int(clamping: memory / Self.largestShareOfMemory)
      options.memoryLimit = memory
    }
    options.bytesPerSecond = bytesPerSecond
    options.changesRate = isSteered
    options.policy = policy
    return options
  }

  /// The concurrency for which the available threads are enough.
  private func lowered(_ concurrency: Int) throws(BatchError) -> Int {
    let own = Self.threadsOfRun + WalkOptions.readAhead(concurrency: concurrency)
    let threads = ThreadLimit.available(upTo: own + concurrency * Self.threadsOfLane)
    let lanes = (threads - own) / Self.threadsOfLane
    guard lanes > 0 else {
      throw BatchError(
        .exhausted, "only \(threads) threads can be started: at least \(own + Self.threadsOfLane) are needed",
        remedy: "raise `ulimit -u`, `ulimit -v` or `ulimit -d`, or pids.max of the control group")
    }
    return min(concurrency, lanes)
  }

  /// The concurrency for which a limited address space is enough.
  private func fitting(_ laneMemory: Int, _ concurrency: Int) throws(BatchError) -> Int {
    let threads = Self.threadsOfRun + WalkOptions.readAhead(concurrency: concurrency)
    let own = Self.memoryOfRun + threads * Self.memoryOfThread
    let lane = laneMemory + Self.memoryOfLane + Self.threadsOfLane * Self.memoryOfThread
    let parts = AddressSpace.available(upTo: concurrency + (own + lane - 1) / lane, ofBytes: lane)
    let lanes = parts - (own + lane - 1) / lane
    guard lanes > 0 else {
      throw BatchError(
        .exhausted,
        "the address space that is left is too small: at least \((own + lane) >> 20) MiB are needed",
        remedy: "raise `ulimit -v`")
    }
    return min(concurrency, lanes)
  }
}

extension BatchOptions {
  /// Reserves descriptors for files that are open during the whole run, or one after the other.
  package mutating func setApart(_ count: Int) {
    descriptors = max(DescriptorBudget.tokensToRead, descriptors - count)
  }
}
