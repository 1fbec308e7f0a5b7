/// How a run uses the machine.
public struct BatchOptions: Sendable {
  /// Operations at once, 1 or more.
  public var concurrency = 1
  /// The most operations at once to which a run may raise the number by itself, from ``concurrency`` on, when it finds that
  /// more are faster; nil keeps the number.
  public var mostConcurrency: Int?
  /// Whether the number is moved in short steps: it was found best before, or many operations may make the disk slow.
  package var isConcurrencyCareful = false
  /// The processors that the process may use, as a fraction where a quota says so: a run that uses them is not made
  /// faster by more operations.
  public var processors = 1.0
  public var stride = ChunkStride.automatic
  /// File descriptors that the run may have open at once: by default for 64 reads of two each, and for the 16 folders
  /// that stay open on the way to deep ones.
  public var descriptors = 144
  /// Bytes that the buffers of the run may take.
  public var memory = 256 << 20
  /// Bytes that the run may read in a second; nil for any number.
  public var bytesPerSecond: Int64?
  /// A file with more bytes of holes is not read, and fails. Holes are not read from the device, and still take the
  /// time to hash or compress their zeros.
  public var mostHoles: UInt64 = 1 << 40
  public var policy = EventPolicy()
  /// Chunks from one checkpoint to the next, with one more after the last chunk; nil for none at all.
  public var chunksPerCheckpoint: Int?
  /// Runs one operation at a time in the order of the source, whatever asks for more: for workers that write to one stream.
  public var isSerial = false
  /// With a concurrency of 1, calls workers and collector on the thread that calls `run`. Large files and
  /// folders may still be read ahead on queues of their own.
  public var runsOnCaller = false

  public init() {}
}
