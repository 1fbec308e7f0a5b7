import BatchEngine
import BatchOutputs

/// The work of a lane in a dry run, instead of writing an output.
extension WorkerContext {
  /// Counts a source whose output would be written, and its bytes as if they had been read.
  func plan(_ record: FileRecord, target: PathBytes, isCopy: Bool = false) -> TransformRow {
    plan(
      record.path, target: target, size: max(0, record.status.size), LinkedSource.of(record, isCopy: isCopy))
  }

  /// The same for standard input, whose size is unknown.
  func plan(
    _ source: PathBytes, target: PathBytes, size: Int64, _ shared: LinkedSource? = nil
  ) -> TransformRow {
    finish()
    count(bytes: Int(clamping: size))
    return .report(TransformReport(source: source, outcome: .planned(target: target, size: size)), shared)
  }

  /// The first bytes of a file, which show whether it is already compressed.
  ///
  /// - Returns: nil when it cannot be read, which has been reported.
  func start(of record: FileRecord) -> [UInt8]? {
    do throws(BatchError) {
      return try firstBytes(of: record)
    } catch {
      report(Problem(error))
      return nil
    }
  }

  /// The same without reporting an error.
  ///
  /// - Throws: if it cannot be read; nothing is reported.
  func firstBytes(of record: FileRecord) throws(BatchError) -> [UInt8] {
    try withFile(record) { (file, _) throws(BatchError) in
      var result = 0
      let start = [UInt8](unsafeUninitializedCapacity: CompressionFormat.detectionLength) { buffer, count in
        result = calls.read(file, into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        count = max(0, result)
      }
      guard result >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -result)) }
      return start
    }
  }
}
