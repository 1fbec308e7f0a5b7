import BatchCore
import BatchEngine

/// Notifies a monitoring service about a backup, with the URLs of healthchecks.io: `URL/start`, then `URL` or `URL/fail`.
struct BackupNotification: Sendable {
  enum Event: String {
    case start, success, failure
  }

  /// The time limit for one message, in seconds.
  static let limit = 10.0

  private let url: [UInt8]

  /// - Throws: `UsageError` for anything but an HTTP URL. The message does not repeat the URL, because anyone who knows it can send
  ///   messages.
  init(_ url: PathBytes, in command: CommandSpec) throws(UsageError) {
    let isPlain = url.bytes.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\\") }
    guard isPlain, ["http://", "https://"].contains(where: { url.bytes.starts(with: $0.utf8) }) else {
      throw UsageError(
        "The value of '--notify' is not a URL that begins with http:// or https://.", in: command)
    }
    self.url = url.bytes
  }

  /// The input for `curl`, so that the URL is not visible in the process list.
  func configuration(of event: Event) -> [UInt8] {
    // A query stays after the path.
    let path = url.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    var target = Array(path)
    while target.last == UInt8(ascii: "/") { target.removeLast() }
    switch event {
    case .start: target += "/start".utf8
    case .failure: target += "/fail".utf8
    case .success: target = Array(path)
    }
    let quoted = (target + url[path.endIndex...]).flatMap { byte in
      byte == UInt8(ascii: "\"") ? Array("\\\"".utf8) : [byte]
    }
    let options = """
      silent
      show-error
      fail
      max-time = \(Int(Self.limit))
      output = "/dev/null"
      proto = "=http,https"
      url = "
      """
    return Array(options.utf8) + quoted + Array("\"\n".utf8)
  }

  var hook: Hook { Hook("exec curl -q -K -", limit: Self.limit + 1) }
}

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
