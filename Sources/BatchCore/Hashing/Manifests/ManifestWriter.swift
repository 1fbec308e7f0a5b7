import BatchEngine

/// Writes rows of a manifest into a buffer of bytes.
///
/// A writer has no mutable state: rows may be written on any thread and joined in order later.
package struct ManifestWriter: Sendable {
  package let format: ManifestFormat
  package let algorithms: [DigestAlgorithm]
  /// Whether rows end with NUL instead of a newline; then names are not escaped in gnu and bsd.
  package let zero: Bool

  /// - Throws: `.invalid` when the format cannot store one of the algorithms, or does not allow NUL.
  package init(
    _ format: ManifestFormat, algorithms: [DigestAlgorithm], zero: Bool = false
  ) throws(BatchError) {
    for algorithm in algorithms {
      let isKnown =
        switch format {
        case .hashdeep: algorithm.hashdeepColumn != nil
        case .mtree: algorithm.mtreeKeyword != nil
        case .gnu, .bsd, .json: true
        }
      guard isKnown else {
        throw BatchError(
          .invalid, "the \(format.rawValue) format has no \(algorithm.rawValue)",
          remedy: "choose another format or algorithm")
      }
    }
    guard !zero || format != .mtree else {
      throw BatchError(
        .invalid, "mtree lines cannot end with NUL", remedy: "its escapes make any name safe already")
    }
    self.format = format
    self.algorithms = algorithms
    self.zero = zero
  }

  /// Appends the header before the first row; nothing in gnu, bsd and json.
  package func appendHeader(to output: inout [UInt8]) {
    switch format {
    case .gnu, .bsd, .json: break
    case .hashdeep: HashdeepManifest.appendHeader(algorithms, to: &output)
    case .mtree: MtreeManifest.appendHeader(to: &output)
    }
  }

  /// Appends one file: a line, or a line for each digest in gnu and bsd.
  ///
  /// - Throws: `.invalid` with the path when a hashdeep name contains a newline, which that format cannot represent; then
  ///   nothing is appended.
  package func append(_ row: ManifestRow, to output: inout [UInt8]) throws(BatchError) {
    let terminator: UInt8 = zero ? 0 : UInt8(ascii: "\n")
    switch format {
    case .gnu: GNUManifest.append(row, zero: zero, to: &output)
    case .bsd: BSDManifest.append(row, zero: zero, to: &output)
    case .hashdeep:
      guard zero || !row.path.bytes.contains(UInt8(ascii: "\n")) else {
        throw BatchError(
          .invalid, "hashdeep manifests cannot hold a name with a newline", path: row.path,
          remedy: "choose another format, or end lines with NUL")
      }
      HashdeepManifest.append(row, to: &output)
      output.append(terminator)
    case .mtree:
      MtreeManifest.append(row, to: &output)
      output.append(terminator)
    case .json:
      JSONManifest.append(row, to: &output)
      if zero { output[output.count - 1] = terminator }
    }
  }
}

/// The format of a list of digests.
public enum ManifestFormat: String, CaseIterable, Sendable {
  /// `digest  name`, as `sha256sum` prints.
  case gnu
  /// `SHA256 (name) = digest`, as `sha256sum --tag` prints.
  case bsd
  /// `size,md5,sha256,name` below a header, as `hashdeep` prints.
  case hashdeep
  /// `./name type=file size=… time=… sha256digest=…`, as `bsdtar --format=mtree` writes.
  case mtree
  /// One JSON object in each line.
  case json
}
