import BatchEngine

extension Batch {
  /// The resources that a call may use, and its policy for problems.
  public struct Settings: Sendable {
    /// Operations at once, 1 or more; nil lets the run find the fastest number. Results are the same with every number.
    public var concurrency: Int?
    /// Files of one operation, 1 or more; nil decides by their number and bytes. This setting also decides how archives are cut
    /// into segments.
    public var stride: Int?
    /// File descriptors that the call may have open at once, 16 or more. By default a quarter of those that the soft limit of
    /// the process and the other calls in progress leave, at most 512.
    public var openFiles: Int?
    /// Memory in bytes for buffers and the index of an archive, 1 MiB or more; nil for a quarter of the memory that the process
    /// may use.
    public var memory: Int?
    /// The largest number of bytes to read per second, 1 or more; nil for no limit.
    public var bytesPerSecond: Int64?
    /// Pauses, resumes and limits the call while it runs; nil if nothing does.
    public var control: Control?
    /// A file with more bytes of holes is not read, and fails.
    public var mostHoles: UInt64 = 1 << 40
    /// The policy for paths that vanish, change, cannot be read, or are special files.
    public var policy = EventPolicy()
    /// Operations from one checkpoint to the next, 1 or more; nil for none. At a checkpoint nothing is in progress, and all
    /// complete outputs have their names (``Progress/Snapshot/safeFiles``). At each checkpoint the run waits until the slowest
    /// operation has ended.
    public var operationsPerCheckpoint: Int?
    /// The largest number of entries in each list of the report, 0 or more. Counts are always complete.
    public var mostListed = 1000

    /// The defaults: the run finds the number of operations, and the other limits are those of the command.
    public init() {}
  }
}

extension Batch.Settings {
  /// The least memory; with less, a buffer would wait for ever.
  private static let leastMemory = 1 << 20

  /// The same settings as limits of the engine.
  ///
  /// - Parameter descriptors: the descriptors of the process that the call may use.
  func limits(_ descriptors: DescriptorLimit, first: PathBytes?) -> RunLimits {
    var limits = RunLimits(descriptors: descriptors)
    limits.concurrency = concurrency.map { max(1, $0) }
    limits.stride = stride.map { max(1, $0) }
    limits.memory = memory.map { Int64(max(Self.leastMemory, $0)) }
    limits.mostHoles = Int64(clamping: mostHoles)
    limits.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
    limits.isSteered = control != nil
    limits.policy = policy
    limits.firstOperand = first
    return limits
  }
}
