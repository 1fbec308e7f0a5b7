import BatchEngine

extension Batch {
  /// What a call may take of the machine, and what it does about problems.
  public struct Settings: Sendable {
    /// Operations at once, 1 or more; nil finds the fastest number while the run goes on. Results are the same with every number.
    public var concurrency: Int?
    /// Files of one operation, 1 or more; nil goes by their number and bytes. It decides how archives are cut into segments.
    public var stride: Int?
    /// File descriptors that the call may have open at once, 16 or more. By default a quarter of those that the soft limit of
    /// the process leaves beside the calls that go on, at most 512.
    public var openFiles: Int?
    /// Bytes that buffers and the index of an archive may take, 1 MiB or more; nil for a quarter of what the process may use.
    public var memory: Int?
    /// Bytes to read in a second, 1 or more; nil for any number.
    public var bytesPerSecond: Int64?
    /// A file with more bytes of holes is not read, and fails.
    public var mostHoles: UInt64 = 1 << 40
    /// What is done about paths that vanish, change, cannot be read, or have nothing to be read.
    public var policy = EventPolicy()
    /// Operations from one checkpoint to the next, 1 or more; nil for none. At a checkpoint nothing is in progress, and each output
    /// that is complete has its name (``Progress/Snapshot/safeFiles``). It costs the time until the slowest operation has ended.
    public var operationsPerCheckpoint: Int?
    /// The most entries of each list of the report, 0 or more. Counts are complete.
    public var mostListed = 1000

    /// Operations at once are found, and the other limits are those of the command.
    public init() {}
  }
}

extension Batch.Settings {
  /// Memory below which a buffer would wait for ever.
  private static let leastMemory = 1 << 20

  /// The same in the engine's terms.
  ///
  /// - Parameter descriptors: what the call may have of the process.
  func limits(_ descriptors: DescriptorLimit, first: PathBytes?) -> RunLimits {
    var limits = RunLimits(descriptors: descriptors)
    limits.concurrency = concurrency.map { max(1, $0) }
    limits.stride = stride.map { max(1, $0) }
    limits.memory = memory.map { Int64(max(Self.leastMemory, $0)) }
    limits.mostHoles = Int64(clamping: mostHoles)
    limits.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
    limits.policy = policy
    limits.firstOperand = first
    return limits
  }
}
