import BatchCore
import BatchEngine
import BatchOutputs

/// Converts the common options to those of the engine.
extension CommonOptions {
  /// One operation may need up to this fraction (1 / n) of the memory at once; with less memory it would wait forever.
  private static let largestShareOfMemory: UInt64 = 4
  private static let mostLanes = 4096
  /// Signals, admission, results, progress, counting, load, the watch over threads, and Dispatch's own.
  private static let threadsOfRun = 9
  /// A lane, and the reader of a large file beside it.
  private static let threadsOfLane = 2
  /// Address space for each thread: its stack, and its share of other memory.
  private static let memoryOfThread = 8 << 20
  private static let memoryOfRun = 16 << 20
  private static let memoryOfLane = 4 << 20

  /// - Throws: `exhausted` when the process may open too few files.
  ///
  /// - Parameter laneMemory: bytes that one operation takes at most.
  ///   - saved: the number that was saved for the device.
  func batchOptions(
    _ capacity: Capacity, laneMemory: Int = 0, saved: Int? = nil
  ) throws(BatchError) -> BatchOptions {
    var options = BatchOptions()
    let limit = DescriptorLimit.raise().free
    let allowed = try limit.budget()
    options.descriptors = min(
      maxOpenFiles ?? allowed, max(allowed, Int(clamping: limit.soft) - Int(DescriptorLimit.reserve)))
    // Not more than the lanes and the walk can use, because each descriptor needs a token.
    options.descriptors = min(options.descriptors, 2 * DescriptorBudget.tokensToRead * Self.mostLanes)
    // More lanes than descriptors would only wait for each other.
    let lanes = max(1, options.descriptors / DescriptorBudget.tokensToRead)
    let bounds = ConcurrencyBounds(
      capacity, descriptors: options.descriptors, descriptorsOfLane: DescriptorBudget.tokensToRead,
      memoryOfLane: laneMemory)
    options.concurrency = try fitting(
      laneMemory,
      try lowered(
        min(concurrency ?? saved.map { min($0, bounds.most) } ?? bounds.start, max(lanes, 1), Self.mostLanes))
    )
    options.processors = capacity.processors
    options.isConcurrencyCareful =
      concurrency == nil && (saved != nil || firstOperand.map { DeviceFacts.isRotational($0) } ?? false)
    if concurrency == nil || control != nil {
      options.mostConcurrency =
        AddressSpace.isLimited ? try fitting(laneMemory, bounds.most) : bounds.most
    }
    // A run on the caller's thread cannot be held back, nor change its concurrency.
    options.runsOnCaller = concurrency == 1 && qos == .standard && maxLoad == nil && control == nil
    if let stride { options.stride = .fixed(stride) }
    if let maxHole { options.mostHoles = UInt64(clamping: maxHole) }
    if let maxMemory {
      options.memory = Int(clamping: maxMemory)
    } else if let memory = capacity.memory {
      options.memory = Int(clamping: memory / Self.largestShareOfMemory)
    }
    for (event, action) in policies { options.policy[event] = action }
    return options
  }

  /// The concurrency for which the available threads are enough.
  private func lowered(_ concurrency: Int) throws(BatchError) -> Int {
    let own = Self.threadsOfRun + readAhead(concurrency: concurrency)
    let threads = ThreadLimit.available(upTo: own + concurrency * Self.threadsOfLane)
    let lanes = (threads - own) / Self.threadsOfLane
    guard lanes > 0 else {
      throw BatchError(
        .exhausted, "only \(threads) threads can be started: at least \(own + Self.threadsOfLane) are needed",
        remedy: "raise `ulimit -u` or `ulimit -v`")
    }
    return min(concurrency, lanes)
  }

  /// The concurrency for which a limited address space is enough.
  private func fitting(_ laneMemory: Int, _ concurrency: Int) throws(BatchError) -> Int {
    let threads = Self.threadsOfRun + readAhead(concurrency: concurrency)
    let own = Self.memoryOfRun + threads * Self.memoryOfThread
    let lane = laneMemory + Self.memoryOfLane + Self.threadsOfLane * Self.memoryOfThread
    let parts = AddressSpace.available(upTo: concurrency + (own + lane - 1) / lane, ofBytes: lane)
    let lanes = parts - (own + lane - 1) / lane
    guard lanes > 0 else {
      throw BatchError(
        .exhausted,
        "the address space that is left is too small: at least \(ByteCount.text(Int64(own + lane))) are needed",
        remedy: "raise `ulimit -v`")
    }
    return min(concurrency, lanes)
  }

  private func readAhead(concurrency: Int) -> Int { WalkOptions.readAhead(concurrency: concurrency) }

  /// - Throws: `invalid` for a pattern that can never match, and the error of reading a pattern file.
  func walkOptions() throws(BatchError) -> WalkOptions {
    var options = WalkOptions()
    options.followsLinks = followSymlinks
    options.staysOnFileSystem = oneFileSystem
    options.minimumSize = minSize
    options.maximumSize = maxSize
    options.age = age
    options.limits = pathLimits
    options.readsIgnoreFiles = gitignore
    options.skipsCaches = excludeCaches
    // A slow walk delays all lanes: the more lanes there are, the sooner read-ahead pays off.
    options.readAheadThreshold = dryRun ? .zero : .microseconds(200)
    options.filter = try filter()
    return options
  }

  /// The filter of the rules; nil without rules.
  ///
  /// - Throws: as ``walkOptions(concurrency:)``.
  func filter() throws(BatchError) -> PathFilter? {
    filterRules.isEmpty ? nil : try PathFilter(rules: filterRules)
  }

  /// Whether a rule comes from another option, such as --exclude-vcs.
  func isImplied(_ rule: GivenRule) -> Bool {
    excludesVCS && Self.versionControlNames.contains(rule.pattern.description)
  }
}

extension BatchOptions {
  /// A large file's output is open until its last block is written: small outputs need another place, otherwise lanes that wait
  /// for one would never process the blocks.
  private static let fewestOutputs = 2
  private static let mostOutputs = 1024
  /// Folders that stay open from output to output.
  private static let mostFolders = 16

  /// Reserves descriptors for files that are open during the whole run, or one after the other.
  mutating func setApart(_ count: Int) {
    descriptors = max(DescriptorBudget.tokensToRead, descriptors - count)
  }

  /// Reserves half of the descriptors for outputs.
  ///
  /// - Parameter outputs: receives how many outputs may be open at once, and how many folders may be kept open.
  /// - Throws: `exhausted` when there are too few for both outputs and reading.
  mutating func shareDescriptors(with outputs: inout OutputOptions) throws(BatchError) {
    let fewest = Self.fewestOutputs * outputs.descriptorsOfOutput + outputs.descriptorsOfLane
    guard descriptors >= fewest else {
      throw BatchError(
        .exhausted, "\(descriptors) file descriptors for files are too few: at least \(fewest) are needed",
        remedy: "raise `ulimit -n` or --max-open-files")
    }
    outputs.keptFolders = min(Self.mostFolders, descriptors / 32)
    descriptors -= outputs.keptFolders
    let share = descriptors / (2 * outputs.descriptorsOfOutput)
    outputs.staged = min(Self.mostOutputs, max(Self.fewestOutputs, share))
    descriptors -= outputs.staged * outputs.descriptorsOfOutput
  }
}
