import BatchCore
import BatchEngine

extension BackupHooks {
  func metrics(_ status: Int32, _ report: Report, _ session: Session) -> BackupMetrics {
    var metrics = BackupMetrics(
      set: set, lastRun: Int64(report.started), seconds: report.stopwatch.seconds, status: status)
    let id = report.content?.header.name.stamp
    let former = try? BackupSet(in: directory, named: set).content(in: session.context)
      .newestComplete(of: report.sources, besides: id, now: FileStatus.Time.now.seconds)
    metrics.lastSuccess =
      status == 0
      ? report.content?.header.started.seconds
      : self.metrics.flatMap { metrics.lastSuccess(in: $0) } ?? former?.header.started.seconds
        ?? success?.time(now: metrics.lastRun)
    metrics.files = report.content?.footer.files
    metrics.bytes = report.content?.footer.bytes
    metrics.archivedFiles = report.counts.done
    metrics.readBytes = report.counts.byteCount
    metrics.errors = report.counts.failed
    return metrics
  }
}
