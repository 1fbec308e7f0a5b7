import BatchEngine
import BatchOutputs

/// The work of a lane for a source whose output is not written.
extension WorkerContext {
  /// Counts or reports a source whose output is not written.
  ///
  /// - Returns: its row, or no row if it was refused; nil if the output is written or compared.
  func settled(_ record: FileRecord, _ decision: OutputDecision, isCopy: Bool = false) -> [TransformRow]? {
    switch decision {
    case .write, .compare: return nil
    case .upToDate(let output):
      skip(.upToDate)
      let source = LinkedSource.of(record, output: output, isCopy: isCopy)
      return [.report(TransformReport(source: record.path, outcome: .upToDate), source)]
    case .refused(let error):
      report(Problem(.unreadable, error))
      return []
    }
  }

  /// Counts a source whose output would be written, and its bytes as if they had been read.
  func plan(_ record: FileRecord, target: PathBytes, isCopy: Bool = false) -> TransformRow {
    plan(
      record.path, target: target, size: max(0, record.status.size), LinkedSource.of(record, isCopy: isCopy))
  }

  /// Counts an output that would be written from standard input or a file. The size of standard input is unknown.
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

  /// The first bytes of a file, which show whether it is already compressed; an error is not reported.
  ///
  /// - Throws: if it cannot be read; nothing is reported.
  func firstBytes(of record: FileRecord) throws(BatchError) -> [UInt8] {
    try withFile(record) { (file, _) throws(BatchError) in
      try [UInt8](upTo: CompressionFormat.detectionLength) { (room) throws(BatchError) in
        let count = calls.read(file, into: room, at: 0)
        guard count >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -count)) }
        return count
      }
    }
  }
}
