import BatchEngine
import struct Foundation.Data

/// Lines of JSON: `path` or `path_b64`, `size`, `mtime` as the string `seconds.nnnnnnnnn`, and each digest in hexadecimal
/// under the name of its algorithm.
enum JSONManifest {
  static func append(_ row: ManifestRow, to output: inout [UInt8]) {
    JSONLine.append(to: &output) { line in
      line.add(path: row.path)
      line.add("size", row.size)
      if let modified = row.modified { line.add("mtime", time: modified) }
      for digest in row.digests { line.add(digest.algorithm.rawValue, plain: digest.appendHex) }
    }
  }

  /// Whether a line of an unknown manifest begins or ends like a JSON object.
  static func recognizes(_ line: [UInt8]) -> Bool {
    var text = line.drop(while: JSONObjectParser.isBlank)
    if text.popFirst() == UInt8(ascii: "{"),
      text.first(where: { !JSONObjectParser.isBlank($0) }) == UInt8(ascii: "\"")
    {
      return true
    }
    return line.last { !JSONObjectParser.isBlank($0) } == UInt8(ascii: "}")
      && zip(line, line.dropFirst()).contains { $0 == UInt8(ascii: "\"") && $1 == UInt8(ascii: ":") }
  }

  /// - Parameter digits: a string, as written here, or a number, as written by other programs.
  private static func time(_ digits: ArraySlice<UInt8>) throws(MalformedLine) -> FileStatus.Time {
    guard let time = FileStatus.Time(number: digits) else { throw MalformedLine("mtime is out of range") }
    return time
  }

  /// Other events of `--json`, which are not rows.
  private static let otherEvents = ["problem", "error", "summary"]

  static func parse(_ line: [UInt8]) throws(MalformedLine) -> ManifestEntry? {
    guard let first = line.first(where: { !JSONObjectParser.isBlank($0) }), first != UInt8(ascii: "#") else {
      return nil
    }
    var entry = ManifestEntry(path: "", digests: [])
    var hasPath = false
    var isOtherEvent = false
    var parser = JSONObjectParser(line)
    while let (key, value) = try parser.next() {
      switch (key, value) {
      case ("path", .string(let bytes)):
        entry.path = PathBytes(bytes)
        hasPath = true
      case ("path_b64", .string(let bytes)):
        guard let decoded = Data(base64Encoded: Data(bytes)) else {
          throw MalformedLine("path_b64 is not base64")
        }
        entry.path = PathBytes(decoded)
        hasPath = true
      case ("type", .string(let bytes)):
        isOtherEvent = otherEvents.contains { bytes.elementsEqual($0.utf8) }
      case ("size", .number(let digits)):
        guard let size = DecimalDigits.value(of: digits) else { throw MalformedLine("the size is not whole") }
        entry.size = size
      case ("mtime", .number(let digits)): entry.modified = try time(digits)
      case ("mtime", .string(let digits)): entry.modified = try time(digits[...])
      case (_, .string(let hex)):
        guard let algorithm = DigestAlgorithm(rawValue: key) else { continue }
        guard let digest = Digest(algorithm, hex: hex) else {
          throw MalformedLine("not \(algorithm.byteCount * 2) hexadecimal digits of \(algorithm.rawValue)")
        }
        entry.digests.removeAll { $0.algorithm == algorithm }
        entry.digests.append(digest)
      default: continue
      }
    }
    guard !isOtherEvent else { return nil }
    guard hasPath else { throw MalformedLine("no path") }
    guard !entry.digests.isEmpty else { throw MalformedLine("no digest of a known algorithm") }
    guard !entry.path.containsNUL else { throw MalformedLine("a NUL byte in the name") }
    return entry
  }
}
