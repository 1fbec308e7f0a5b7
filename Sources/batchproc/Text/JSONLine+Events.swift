import BatchEngine

/// One event of `--json`.
extension JSONLine {
  /// The version of the events' form; grows when a member changes its meaning.
  static let schema = 2

  /// Starts `{"type":…,"schema":2,"seq":…`.
  init(_ type: String, sequence: Int) {
    self.init(type)
    add("schema", JSONLine.schema)
    add("seq", sequence)
  }

  /// Adds class, message, the system's number and reason, the remedy, and the path the error names.
  mutating func add(error: BatchError) {
    add("code", error.code.rawValue)
    add("message", error.message)
    if error.errno != 0 { add("errno", error.errno) }
    if let reason = error.systemMessage { add("reason", reason) }
    if let remedy = error.remedy { add("remedy", remedy.text) }
    if let path = error.path { add(path: path) }
  }
}
