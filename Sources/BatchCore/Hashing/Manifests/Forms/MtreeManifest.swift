import BatchEngine

/// Lines of mtree(5) as libarchive writes them: the whole path, then keywords with values.
enum MtreeManifest {
  static func appendHeader(to output: inout [UInt8]) {
    output.append(literal: "#mtree\n")
  }

  /// A relative path gets a leading `./`, unless it already has one: a path without a slash would be an entry of the preceding
  /// line's folder.
  static func append(_ row: ManifestRow, to output: inout [UInt8]) {
    appendName(row.path.bytes, to: &output)
    output.append(literal: " type=file size=")
    output.append(contentsOf: String(row.size).utf8)
    if let modified = row.modified {
      output.append(literal: " time=")
      modified.appendFields(to: &output)
    }
    for digest in row.digests {
      output.append(UInt8(ascii: " "))
      output.append(contentsOf: (digest.algorithm.mtreeKeyword ?? "").utf8)
      output.append(UInt8(ascii: "="))
      digest.appendHex(to: &output)
    }
  }

  private static func appendName(_ name: [UInt8], to output: inout [UInt8]) {
    var name = name[...]
    if MtreeName.isCommand(name) {
      // A file with the name of a command: its first letter is escaped.
      output.append(UInt8(ascii: "/"))
      MtreeName.appendOctal(name[1], to: &output)
      name = name[2...]
    } else if name.first != UInt8(ascii: "/"), !name.starts(with: "./".utf8) {
      output.append(literal: "./")
    }
    for byte in name {
      if MtreeName.isSafe(byte) {
        output.append(byte)
      } else {
        MtreeName.appendOctal(byte, to: &output)
      }
    }
  }
}
