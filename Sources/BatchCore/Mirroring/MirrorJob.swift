import BatchEngine
import BatchOutputs

/// Copies trees into a folder, by all lanes.
package struct MirrorJob: BatchJob {
  package typealias Item = MirrorItem
  package typealias SourceRow = MirrorRow

  /// What the job needs beside its options.
  struct Setting: Sendable {
    let path: PathBytes
    let operands: MirrorOperands
    let options: MirroringOptions
    let outputs: OutputOptions
    /// As the walk used them, for what the filter protects.
    let walk: WalkOptions
    /// Files that are never removed: the manifest of this run.
    var protected: Set<FileIdentity> = []
    var cache: DigestCache?
    /// Receives what the merge of a divided run must do; nil in other runs.
    var shard: (@Sendable (MirrorRecord) throws(BatchError) -> Void)?
  }

  private let setting: Setting
  private let asked: AskedItems<MirrorItem>?
  private let report: @Sendable (MirrorReport) throws(BatchError) -> Void

  init(
    _ setting: Setting, asked: AskedItems<MirrorItem>?,
    report: @escaping @Sendable (MirrorReport) throws(BatchError) -> Void
  ) {
    (self.setting, self.asked, self.report) = (setting, asked, report)
  }

  package var descriptors: Int {
    setting.outputs.descriptorsOfLane + 2 + setting.options.linkSources.count
  }

  package func makeShared(in context: CollectorContext) throws(BatchError) -> MirrorTarget {
    try MirrorTarget(
      setting.path, setting.operands, setting.options, outputs: setting.outputs, cache: setting.cache,
      in: context)
  }

  package func makeWorker(
    in context: WorkerContext, sharing target: MirrorTarget
  ) throws(BatchError) -> MirrorWorker {
    try MirrorWorker(target, in: context)
  }

  package func makeCollector(
    in context: CollectorContext, sharing target: MirrorTarget
  ) throws(BatchError) -> sending MirrorCollector {
    MirrorCollector(target, setting, asked: asked, in: context, report: report)
  }

  package func add(_ row: MirrorRow, in context: WorkerContext, to output: inout [MirrorRow]) {
    output.append(row)
  }
}
