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

  package var text: String {
    let label = (set.text ?? "").reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.append(character)
      }
    }
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
