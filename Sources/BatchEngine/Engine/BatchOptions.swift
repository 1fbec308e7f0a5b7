/// How a run uses the machine.
public struct BatchOptions: Sendable {
  /// Operations at once, 1 or more.
  public var concurrency = 1
  /// The highest number of operations to which a run may raise ``concurrency`` by itself if more are faster; nil keeps the
  /// number.
  public var mostConcurrency: Int?
  /// Whether the number changes in short steps: an earlier run found it to be best, or many operations may slow the disk down.
  package var isConcurrencyCareful = false
  /// The number of processors that the process may use; a fraction if a quota limits them. More operations do not make a run
  /// faster that uses all of them.
  public var processors = 1.0
  public var stride = ChunkStride.automatic
  /// File descriptors that the run may have open at once. Default: two for each of 64 reads, and 16 for folders that stay open
  /// on the way to deep ones.
  public var descriptors = 144
  /// Bytes that the buffers of the run may take.
  public var memory = 256 << 20
  /// The value of ``memory`` if the user gave it; 0 if it depends on the machine. What may be read must not depend on that.
  package var givenMemory = 0
  /// The limit of the process in bytes from which ``memory`` was computed; nil if it was not.
  package var memoryLimit: UInt64?
  /// Bytes that the run may read in a second; nil for no limit.
  public var bytesPerSecond: Int64?
  /// Whether the number of bytes may change during the run.
  package var changesRate = false
  /// A file with more bytes of holes fails and is not read. Holes are not read from the device, but hashing or compressing
  /// their zeros takes time.
  public var mostHoles: UInt64 = 1 << 40
  public var policy = EventPolicy()
  /// Chunks between two checkpoints; one more checkpoint follows the last chunk. nil for no checkpoints.
  public var chunksPerCheckpoint: Int?
  /// Always runs one operation at a time, in the order of the source: for workers that write to one stream.
  public var isSerial = false
  /// The most lanes; nil for ``concurrency``. Children of a run execute without a lane, so few lanes are enough for many children.
  package var mostLanes: Int?
  /// With a concurrency of 1, calls workers and collector on the thread that calls `run`. Large files and folders may still be
  /// read ahead on other queues.
  public var runsOnCaller = false

  public init() {}
}
