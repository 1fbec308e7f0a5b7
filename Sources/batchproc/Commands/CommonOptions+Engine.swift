import BatchCore
import BatchEngine
import BatchOutputs

/// The common options in the engine's terms.
extension CommonOptions {
  /// What one operation may need at once; below this much memory it would wait for ever.
  private static let largestShareOfMemory: UInt64 = 4
  private static let mostLanes = 4096
  /// Signals, admission, results, progress, counting, load, the watch over threads, and Dispatch's own.
  private static let threadsOfRun = 9
  /// A lane, and the reader of a large file beside it.
  private static let threadsOfLane = 2
  /// Address space of a thread, for its stack, and of what a run and a lane have beside that.
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
    // More than the lanes and the walk can use; each of them is a token to be counted.
    options.descriptors = min(options.descriptors, 2 * DescriptorBudget.tokensToRead * Self.mostLanes)
    // More lanes than descriptors would only wait for one another.
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
    // A run on the caller's thread could neither be held back nor change its concurrency.
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

  /// What the available threads are enough for.
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

  /// What a limited address space is enough for.
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
    // A walk that waits for itself holds up all lanes: the more there are, the sooner help is worth its price.
    options.readAheadThreshold = dryRun ? .zero : .microseconds(200)
    options.filter = try filter()
    return options
  }

  /// What the rules leave out; nil without rules.
  ///
  /// - Throws: as ``walkOptions(concurrency:)``.
  func filter() throws(BatchError) -> PathFilter? {
    filterRules.isEmpty ? nil : try PathFilter(rules: filterRules)
  }

  /// Whether a rule stands for an option that is no rule, such as --exclude-vcs.
  func isImplied(_ rule: GivenRule) -> Bool {
    excludesVCS && Self.versionControlNames.contains(rule.pattern.description)
  }
}

extension BatchOptions {
  /// A large file's output is open until its last block is written: small outputs need another place, or the lanes that wait
  /// for one would never process the blocks.
  private static let fewestOutputs = 2
  private static let mostOutputs = 1024
  /// Folders that stay open from output to output.
  private static let mostFolders = 16

  /// Sets descriptors apart for files that are open from the beginning to the end of a run, or one after the other.
  mutating func setApart(_ count: Int) {
    descriptors = max(DescriptorBudget.tokensToRead, descriptors - count)
  }

  /// Sets descriptors apart for outputs, half of those that there are.
  ///
  /// - Parameter outputs: receives how many outputs may be open at once, and how many folders may be kept open.
  /// - Throws: `exhausted` when there are too few for outputs and for reading beside them.
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
