import BatchEngine
import BatchOutputs
import func Glibc.memcmp

/// Links the copies of groups: a lane compares the bytes of two files, and the collector links them soon after.
package struct LinkJob: BatchJob {
  package typealias Item = DuplicateGroup

  private let mode: LinkMode
  private let isDryRun: Bool
  private let isSynced: Bool
  private let report: @Sendable (LinkOutcome) throws(BatchError) -> Void

  /// - Parameters:
  ///   - isSynced: whether the kept file is synced before a copy is replaced.
  ///   - report: receives each copy, linked or not.
  package init(
    _ mode: LinkMode, isDryRun: Bool, isSynced: Bool,
    report: @escaping @Sendable (LinkOutcome) throws(BatchError) -> Void
  ) {
    self.mode = mode
    self.isDryRun = isDryRun
    self.isSynced = isSynced
    self.report = report
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> Worker {
    try Worker(mode, isDryRun: isDryRun)
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending LinkCollector {
    LinkCollector(
      mode == .hard
        ? HardLinking(context, isSynced: isSynced) : BlockSharing(context), isDryRun: isDryRun, context,
      report)
  }

  package final class Worker: BatchWorker {
    private static let blockSize = 256 << 10

    private let mode: LinkMode
    private let isDryRun: Bool
    private let first: ScratchBuffer
    private let second: ScratchBuffer

    init(_ mode: LinkMode, isDryRun: Bool) throws(BatchError) {
      self.mode = mode
      self.isDryRun = isDryRun
      first = try ScratchBuffer(capacity: Self.blockSize)
      second = try ScratchBuffer(capacity: Self.blockSize)
    }

    package func process(
      _ group: DuplicateGroup, in context: WorkerContext, into rows: inout [LinkRow]
    ) throws(BatchError) {
      var kept: [KeptFile] = []
      for file in group.files {
        do throws(BatchError) {
          let (traits, status) = try traits(of: file.record, in: context)
          if let match = kept.first(where: { fits(traits, $0.traits) }) {
            if mode == .hard { try compare(file.record, with: match.file.record, in: context) }
            rows.append(.equal(file, to: match))
          } else {
            // Later copies may be linked to this one, so it is opened before its bytes are compared.
            let held = isDryRun ? nil : try context.hold(file.record)
            rows.append(
              kept.first.map { first in
                .left(
                  file, beside: first.file,
                  traits.device == first.traits.device ? .otherMetadata : .otherFileSystem)
              } ?? .kept)
            kept.append(KeptFile(file, traits, status, held: held))
          }
        } catch {
          try context.checkCancellation()
          context.report(Problem(error.path == nil ? error.at(file.path) : error))
        }
      }
    }

    /// Copies that share blocks keep their own owner, mode and attributes.
    private func fits(_ traits: FileTraits, _ other: FileTraits) -> Bool {
      mode == .hard ? traits == other : traits.device == other.device
    }

    private func traits(
      of record: FileRecord, in context: WorkerContext
    ) throws(BatchError) -> (FileTraits, FileStatus) {
      let mode = mode
      do throws(BatchError) {
        return try context.withFile(record) { (file, status) throws(BatchError) in
          try status.requireContent(of: record)
          return (FileTraits(file, status, hasAttributes: mode == .hard), status)
        }
      } catch {
        throw error.at(record.path)
      }
    }

    /// - Throws: `changed` when the bytes differ now.
    private func compare(
      _ record: FileRecord, with other: FileRecord, in context: WorkerContext
    ) throws(BatchError) {
      let size = UInt64(clamping: record.status.size)
      var offset: UInt64 = 0
      while offset < size {
        let range = offset..<min(size, offset + UInt64(Self.blockSize))
        try read(record, range, into: first, in: context)
        try read(other, range, into: second, in: context)
        guard let one = first.room.baseAddress, let two = second.room.baseAddress,
          memcmp(one, two, range.count) == 0
        else {
          throw BatchError(.changed, "does not have the same bytes as its copy any more", path: record.path)
        }
        offset = range.upperBound
      }
    }

    private func read(
      _ record: FileRecord, _ range: Range<UInt64>, into buffer: ScratchBuffer, in context: WorkerContext
    ) throws(BatchError) {
      do throws(BatchError) {
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer.room[..<range.count])
        try context.read(record, ranges: [range], into: room)
      } catch {
        throw error.at(record.path)
      }
    }
  }
}
