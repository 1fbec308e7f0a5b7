import BatchCore

/// The common options in the engine's terms.
extension CommonOptions {
  /// What one operation may need at once; below this much memory it would wait for ever.
  private static let largestShareOfMemory: UInt64 = 4

  /// - Throws: `exhausted` when the process may open too few files.
  func batchOptions(_ capacity: Capacity) throws(BatchError) -> BatchOptions {
    var options = BatchOptions()
    let limit = DescriptorLimit.raise()
    let allowed = try limit.budget()
    options.descriptors = min(
      maxOpenFiles ?? allowed, max(allowed, Int(clamping: limit.soft) - Int(DescriptorLimit.reserve)))
    // More lanes than descriptors would only wait for one another.
    let lanes = max(1, options.descriptors / DescriptorBudget.tokensToRead)
    options.concurrency = min(concurrency ?? capacity.concurrency, max(lanes, 1), 4096)
    options.runsOnCaller = options.concurrency == 1 && qos == .default
    if let stride { options.stride = .fixed(stride) }
    if let maxMemory {
      options.memory = Int(clamping: maxMemory)
    } else if let memory = capacity.memory {
      options.memory = Int(clamping: memory / Self.largestShareOfMemory)
    }
    for (event, action) in policies { options.policy[event.event] = action.action }
    return options
  }

  /// - Throws: `invalid` for a pattern that can never match, and the error of reading a pattern file.
  func walkOptions(concurrency: Int) throws(BatchError) -> WalkOptions {
    var options = WalkOptions()
    options.followsLinks = followSymlinks
    options.staysOnFileSystem = oneFileSystem
    options.minimumSize = minSize
    options.maximumSize = maxSize
    options.readsIgnoreFiles = gitignore
    options.skipsCaches = excludeCaches
    options.readAhead = min(8, max(2, concurrency))
    if !filterRules.isEmpty { options.filter = try PathFilter(rules: filterRules.map(\.rule)) }
    return options
  }
}

extension CommonOptions.FilterRule {
  fileprivate var rule: PathFilter.Rule {
    switch self {
    case .exclude(let glob): .exclude(glob.bytes)
    case .include(let glob): .include(glob.bytes)
    case .excludeFrom(let file): .excludeFrom(file)
    }
  }
}

extension EventClass {
  fileprivate var event: Problem.Event {
    switch self {
    case .vanished: .vanished
    case .changed: .changed
    case .unreadable: .unreadable
    case .special: .special
    }
  }
}

extension PolicyAction {
  fileprivate var action: BatchCore.EventPolicy.Action {
    switch self {
    case .ok: .ok
    case .warn: .warn
    case .fail: .fail
    case .retry(let count): .retry(count)
    }
  }
}

extension QoSLevel {
  var priority: ProcessPriority {
    switch self {
    case .background: .background
    case .utility: .utility
    case .default: .standard
    }
  }
}
