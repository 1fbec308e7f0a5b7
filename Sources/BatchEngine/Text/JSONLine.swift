/// A JSON object on one line, written member by member. Keys are names that need no escape.
package struct JSONLine: Sendable {
  /// What has been added so far, without the end of the object: further members may follow.
  package private(set) var bytes: [UInt8] = []

  /// Starts `{"type":…`.
  package init(_ type: String) {
    begin(type)
  }

  private init() {}

  /// Appends a line to others.
  ///
  /// - Parameter type: the first member, if the line has one.
  package static func append(
    _ type: String? = nil, to lines: inout [UInt8], _ fill: (inout JSONLine) -> Void
  ) {
    var line = JSONLine()
    // The line is appended directly to the others without another allocation, because a backup has many rows.
    swap(&line.bytes, &lines)
    if let type { line.begin(type) } else { line.bytes.append(UInt8(ascii: "{")) }
    fill(&line)
    line.bytes.append(literal: "}\n")
    swap(&line.bytes, &lines)
  }

  package mutating func add(_ key: String, _ number: some BinaryInteger) {
    addKey(key)
    if let number = UInt64(exactly: number) {
      JSONText.append(number, to: &bytes)
    } else {
      bytes += String(number).utf8
    }
  }

  package mutating func add(_ key: String, _ text: String) {
    addKey(key)
    JSONText.append(text, to: &bytes)
  }

  package mutating func add(_ key: String, _ state: Bool) {
    addKey(key)
    bytes += String(state).utf8
  }

  /// JSON has no infinities and no NaN: these become `null`.
  package mutating func add(_ key: String, _ number: Double) {
    addKey(key)
    bytes += (number.isFinite ? String(number) : "null").utf8
  }

  /// Adds a string literal of bytes that need no escape.
  package mutating func add(_ key: String, plain append: (inout [UInt8]) -> Void) {
    addKey(key)
    bytes.append(UInt8(ascii: "\""))
    append(&bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Adds `key` when the name is UTF-8, and the member `key_b64` in base64 (RFC 4648) when it is not.
  package mutating func add(path: PathBytes, as key: StaticString = "path") {
    separate()
    JSONText.append(bytes: path.bytes, key: key, to: &bytes)
  }

  /// Adds an array of objects with one path each, in the two forms of a path.
  package mutating func add(paths: [PathBytes], as key: String) {
    addKey(key)
    bytes.append(UInt8(ascii: "["))
    for (index, path) in paths.enumerated() {
      bytes += (index == 0 ? "{" : ",{").utf8
      JSONText.append(path: path, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(UInt8(ascii: "]"))
  }

  /// The whole line, newline included.
  package func finished() -> [UInt8] { bytes + Array("}\n".utf8) }

  private mutating func begin(_ type: String) {
    bytes.append(literal: "{\"type\":")
    JSONText.append(type, to: &bytes)
  }

  private mutating func separate() {
    if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
  }

  private mutating func addKey(_ key: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes += key.utf8
    bytes.append(literal: "\":")
  }
}
