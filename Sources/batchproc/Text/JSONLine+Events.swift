import BatchCore
import BatchEngine

/// One event of `--json`: an object on a line of its own.
struct JSONLine: Sendable {
  /// The version of the events' form; grows when a member changes its meaning.
  static let schema = 2

  private var bytes: [UInt8]

  /// Starts `{"type":…,"schema":2,"seq":…`.
  init(_ type: String, sequence: Int) {
    bytes = Array(#"{"type":"#.utf8)
    JSONText.append(type, to: &bytes)
    add("schema", JSONLine.schema)
    add("seq", sequence)
  }

  mutating func add(_ key: String, _ number: some BinaryInteger) {
    addKey(key)
    bytes += String(number).utf8
  }

  mutating func add(_ key: String, _ text: String) {
    addKey(key)
    JSONText.append(text, to: &bytes)
  }

  mutating func add(_ key: String, _ state: Bool) {
    addKey(key)
    bytes += String(state).utf8
  }

  /// A string of decimal seconds with nine digits behind the point: a number would lose the last of them.
  mutating func add(_ key: String, time: FileStatus.Time) {
    addKey(key)
    bytes.append(UInt8(ascii: "\""))
    ManifestTime(time).appendNumber(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// JSON has no infinities and no NaN: these become `null`.
  mutating func add(_ key: String, _ number: Double) {
    addKey(key)
    bytes += (number.isFinite ? String(number) : "null").utf8
  }

  /// Adds `key` when the path is UTF-8, and the member `key_b64` in base64 (RFC 4648) when it is not.
  mutating func add(path: PathBytes, as key: StaticString = "path") {
    bytes.append(UInt8(ascii: ","))
    JSONText.append(bytes: path.bytes, key: key, to: &bytes)
  }

  /// Adds class, message, the system's number and reason, the remedy, and the path the error names.
  /// An array of objects with one path each, in the two forms of a path.
  mutating func add(paths: [PathBytes], as key: String) {
    addKey(key)
    bytes.append(UInt8(ascii: "["))
    for (index, path) in paths.enumerated() {
      bytes += (index == 0 ? "{" : ",{").utf8
      JSONText.append(path: path, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(UInt8(ascii: "]"))
  }

  mutating func add(error: BatchError) {
    add("code", error.code.rawValue)
    add("message", error.message)
    if error.errno != 0 { add("errno", error.errno) }
    if let reason = error.systemMessage { add("reason", reason) }
    if let remedy = error.remedy { add("remedy", remedy.text) }
    if let path = error.path { add(path: path) }
  }

  /// What has been added so far, without the end of the object: further members may follow.
  var opening: [UInt8] { bytes }

  /// The whole line, newline included.
  func finished() -> [UInt8] { bytes + Array("}\n".utf8) }

  private mutating func addKey(_ key: String) {
    bytes.append(UInt8(ascii: ","))
    JSONText.append(key, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
  }
}
