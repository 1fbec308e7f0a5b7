import BatchEngine
import BatchOutputs

/// The results of a backup, in the text format that Prometheus' node exporter reads from files.
package struct BackupMetrics: Sendable {
  package var set: PathBytes
  /// In seconds since 1970; nil if there was no success.
  package var lastSuccess: Int64?
  package var lastRun: Int64
  package var seconds: Double
  /// Files and bytes of the snapshot; nil without a new one.
  package var files: UInt64?
  package var bytes: UInt64?
  /// Files and bytes in its archive.
  package var archivedFiles: Int
  package var readBytes: Int64
  package var errors: Int
  package var status: Int32

  package init(set: PathBytes, lastRun: Int64, seconds: Double, status: Int32) {
    self.set = set
    self.lastRun = lastRun
    self.seconds = seconds
    self.status = status
    archivedFiles = 0
    readBytes = 0
    errors = 0
  }

  private static let lastSuccessName = "batchproc_backup_last_success_timestamp_seconds"

  private var label: String {
    (set.text ?? "").reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.append(character)
      }
    }
  }

  /// The time of the last success of this set in an earlier file of metrics, for a set that cannot be read now.
  ///
  /// - Returns: nil also for a time in the future: it would hide that later backups fail.
  package func lastSuccess(in file: PathBytes) -> Int64? {
    guard let content = try? SmallFile.readRegular(file, limit: 1 << 16) else { return nil }
    let start = Array("\(Self.lastSuccessName){set=\"\(label)\"} ".utf8)
    let line = content.split(separator: UInt8(ascii: "\n")).last { $0.starts(with: start) }
    guard let value = line.flatMap({ DecimalDigits.value(of: $0.dropFirst(start.count)) }) else { return nil }
    return Int64(exactly: value).flatMap { LastSuccess.valid($0, now: lastRun) }
  }

  package var text: String {
    let rows: [(name: String, help: String, value: String?)] = [
      (
        "last_success_timestamp_seconds", "When the last run without failures began.",
        lastSuccess.map { "\($0)" }
      ),
      ("last_run_timestamp_seconds", "When the last run began.", "\(lastRun)"),
      ("duration_seconds", "How long the last run took.", "\(seconds)"),
      ("files", "Files in the snapshot that the last run made.", files.map { "\($0)" }),
      ("bytes", "Bytes of these files.", bytes.map { "\($0)" }),
      ("archived_files", "Files that the last run archived.", "\(archivedFiles)"),
      ("read_bytes", "Bytes that the last run read from files.", "\(readBytes)"),
      ("errors", "Paths that the last run could not process.", "\(errors)"),
      ("exit_status", "The exit status of the last run.", "\(status)"),
    ]
    var text = ""
    for row in rows {
      guard let value = row.value else { continue }
      let name = "batchproc_backup_\(row.name)"
      text += "# HELP \(name) \(row.help)\n# TYPE \(name) gauge\n\(name){set=\"\(label)\"} \(value)\n"
    }
    return text
  }

  /// Replaces a file atomically.
  package func write(to path: PathBytes, isSynced: Bool, in run: RunContext) throws(BatchError) {
    let file = try OutputFile(path, isReplacing: true, isSynced: isSynced, in: run)
    try file.write(Array(text.utf8))
    try file.finish()
  }
}
