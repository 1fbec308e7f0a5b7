import BatchEngine
import Dispatch
import Synchronization

/// The BLAKE3 digest of a large file, whose subtrees are read and hashed on as many threads as the concurrency allows.
struct Blake3File {
  /// How many large files of a job are hashed like this now: they share the threads.
  final class Files: Sendable {
    fileprivate let count = Atomic<Int>(0)
  }

  /// The shared state of the threads that work on one window.
  private final class Window: Sendable {
    let next = Atomic<Int>(0)
    let isComplete = Atomic<Bool>(true)
    /// The chaining values of the blocks, concatenated.
    let values: Mutex<[UInt8]>

    init(count: Int) {
      values = Mutex([UInt8](repeating: 0, count: Window.valueSize * count))
    }

    static let valueSize = 32
  }

  /// The smallest size of these files; each is a separate operation.
  static let threshold = ChunkStride.automatic.largeThreshold
  /// Bytes that are read and hashed in one step, so that they stay in the caches of a core.
  static let blockSize = 128 << 10
  /// Blocks that all threads hash before the values are joined.
  private static let blocksOfWindow = 512
  /// The lane has memory for this many buffers.
  private static let mostThreads = 16

  private let context: WorkerContext
  private let record: FileRecord

  /// - Parameters:
  ///   - files: those of the job.
  ///   - settling: checked before the content is read; nil if not needed.
  /// - Returns: nil when the file is not as the walk found it, before or after, or has too many holes; then it must be read
  ///   sequentially, which reports that.
  /// - Throws: only an error that ends the run.
  static func digest(
    of record: FileRecord, among files: Files, _ settling: ChangeSettling? = nil, in context: WorkerContext
  ) throws(BatchError) -> (digest: Digest, isSettled: Bool)? {
    files.count.add(1, ordering: .relaxed)
    defer { files.count.subtract(1, ordering: .relaxed) }
    let file = Blake3File(context: context, record: record)
    var counted = 0
    do throws(BatchError) {
      let digest = try context.withFile(record) {
        (descriptor, status) throws(BatchError) -> (Digest, Bool)? in
        guard status.hasSameContent(as: record.status),
          !DataMap.hasHoles(descriptor, status, above: context.options.mostHoles)
        else { return nil }
        let isSettled = settling?.isSettled(record.status, of: descriptor) ?? false
        let digest = try file.read(descriptor, counted: &counted) {
          max(1, context.concurrency / max(1, files.count.load(ordering: .relaxed)))
        }
        return digest.map { ($0, isSettled) }
      }
      if digest == nil { context.count(bytes: -counted) }
      return digest
    } catch {
      context.count(bytes: -counted)
      try context.checkCancellation()
      return nil
    }
  }

  private func read(
    _ descriptor: Int32, counted: inout Int, share: () -> Int
  ) throws(BatchError) -> Digest? {
    let size = Int(clamping: record.status.size)
    let hasher = Blake3Hasher()
    var offset = 0
    // The library hashes the last bytes: until then it does not know whether a subtree is the root.
    let blocks = max(0, size - 1) / Self.blockSize
    var rest = blocks
    while rest > 0 {
      try context.checkCancellation()
      let count = min(rest, Self.blocksOfWindow)
      let width = min(share(), count, Self.mostThreads)
      let found = context.concurrencyLimit.withThreads(upTo: width) {
        hash(count, at: offset, of: descriptor, width: $0)
      }
      guard let found else { return nil }
      found.withUnsafeBytes { values in
        for start in stride(from: 0, to: values.count, by: Window.valueSize) {
          hasher.push(
            UnsafeRawBufferPointer(rebasing: values[start..<(start + Window.valueSize)]),
            chunks: Self.blockSize / 1024)
        }
      }
      offset += count * Self.blockSize
      counted += count * Self.blockSize
      context.count(bytes: count * Self.blockSize)
      rest -= count
    }
    try context.checkCancellation()
    let tail = UnsafeMutableRawBufferPointer.allocate(byteCount: size - offset, alignment: 4096)
    defer { tail.deallocate() }
    let mayHaveHoles = record.status.unallocated > 0
    guard Self.fill(tail, from: descriptor, at: offset, mayHaveHoles: mayHaveHoles, context.calls) else {
      return nil
    }
    hasher.update(UnsafeRawBufferPointer(tail))
    counted += tail.count
    context.count(bytes: tail.count)
    let now = try context.status(of: descriptor)
    return now.hasSameContent(as: record.status) ? hasher.finish() : nil
  }

  /// - Returns: the chaining values of all blocks; nil when not all of them could be read.
  private func hash(_ count: Int, at offset: Int, of descriptor: Int32, width: Int) -> [UInt8]? {
    let window = Window(count: count)
    let (probe, calls) = (context.probe, context.calls)
    let mayHaveHoles = record.status.unallocated > 0
    DispatchQueue.concurrentPerform(iterations: width) { _ in
      let subtree = Blake3Subtree(byteCount: Self.blockSize)
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockSize, alignment: 4096)
      defer { buffer.deallocate() }
      while window.isComplete.load(ordering: .relaxed) {
        let index = window.next.add(1, ordering: .relaxed).oldValue
        guard index < count else { return }
        let start = offset + index * Self.blockSize
        guard (try? probe.check()) != nil,
          Self.fill(buffer, from: descriptor, at: start, mayHaveHoles: mayHaveHoles, calls)
        else {
          return window.isComplete.store(false, ordering: .relaxed)
        }
        withUnsafeTemporaryAllocation(byteCount: Window.valueSize, alignment: 16) { value in
          subtree.compute(UnsafeRawBufferPointer(buffer), at: UInt64(start), into: value)
          let place = (Window.valueSize * index)..<(Window.valueSize * (index + 1))
          window.values.withLock { $0.replaceSubrange(place, with: value) }
        }
      }
    }
    return window.isComplete.load(ordering: .relaxed) ? window.values.withLock { $0 } : nil
  }

  /// - Returns: whether there were enough bytes.
  private static func fill(
    _ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at offset: Int, mayHaveHoles: Bool,
    _ calls: any FileSystemCalls
  ) -> Bool {
    SparseReading.fill(
      buffer, from: descriptor, at: UInt64(clamping: offset), mayHaveHoles: mayHaveHoles, calls: calls)
      == buffer.count
  }
}
