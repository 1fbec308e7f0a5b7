import BatchEngine

/// Converts the common options to those of the engine.
extension CommonOptions {
  /// The limits of a run, from the options.
  ///
  /// - Parameter saved: the number that was saved for the device.
  func limits(saved: Int? = nil) -> RunLimits {
    var limits = RunLimits(descriptors: DescriptorLimit.raise().free)
    limits.concurrency = concurrency
    limits.savedConcurrency = saved
    limits.stride = stride
    limits.openFiles = maxOpenFiles
    limits.memory = maxMemory
    limits.mostHoles = maxHole
    limits.bytesPerSecond = rate
    limits.policy = policy
    limits.firstOperand = firstOperand
    limits.isSteered = control != nil
    // A run on the caller's thread could not be held back.
    limits.mayRunOnCaller = qos == .standard && maxLoad == nil
    return limits
  }

  /// - Throws: `invalid` for a pattern that can never match, and the error of reading a pattern file.
  func walkOptions() throws(BatchError) -> WalkOptions {
    var options = walk
    options.filter = try filter()
    return options
  }

  /// The filter of the rules; nil without rules.
  func filter() throws(BatchError) -> PathFilter? {
    filterRules.isEmpty ? nil : try PathFilter(rules: filterRules)
  }

  /// Whether a rule comes from another option, such as --exclude-vcs.
  func isImplied(_ rule: GivenRule) -> Bool {
    excludesVCS && Self.versionControlNames.contains(rule.pattern.description)
  }
}
