import BatchEngine

/// Lines of `hashdeep`: size, digests and name separated by commas, below a header that names the columns.
///
/// The format has no escapes: a name is the unchanged rest of the line.
enum HashdeepManifest {
  static let signature = Array("%%%% HASHDEEP-1.0".utf8)

  static func appendHeader(_ algorithms: [DigestAlgorithm], to output: inout [UInt8]) {
    output += signature
    output.append(literal: "\n%%%% size,")
    for algorithm in algorithms {
      output.append(contentsOf: (algorithm.hashdeepColumn ?? "").utf8)
      output.append(UInt8(ascii: ","))
    }
    // The header lines end with newlines even if rows end with NUL, as in hashdeep -0.
    output.append(literal: "filename\n")
  }

  static func append(_ row: ManifestRow, to output: inout [UInt8]) {
    output.append(contentsOf: String(row.size).utf8)
    output.append(UInt8(ascii: ","))
    for digest in row.digests {
      digest.appendHex(to: &output)
      output.append(UInt8(ascii: ","))
    }
    output.append(contentsOf: row.path.bytes)
  }
}
