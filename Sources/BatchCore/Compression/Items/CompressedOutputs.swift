import BatchEngine
import BatchOutputs

extension OutputOptions {
  /// The options of a run that compresses or decompresses: an existing output is recognized as a file in a compressed format.
  package init(naming: OutputNaming) {
    self.init(
      naming: naming,
      recognizing: Recognition(length: CompressionFormat.detectionLength) { start in
        CompressionFormat.detect(start) != nil
      })
  }
}

extension OutputNaming.Direction {
  /// From the names of compressed files to those of their contents.
  package static let decompressing = Self.removing(CompressionFormat.knownSuffixes)
}

extension CompressionFormat {
  /// The suffix of each format, with its dot.
  package static let suffixes = allCases.map(\.suffix)
  /// The other suffixes that decompressing removes, with their dots.
  package static let otherSuffixes = allCases.flatMap { $0.codec.otherSuffixes.map { ".\($0)" } }
  /// The suffixes that decompressing replaces by `.tar`, with their dots.
  package static let tarSuffixes = allCases.flatMap { $0.codec.tarSuffixes.map { ".\($0)" } }

  /// The suffixes of names, then those in capitals, as other systems write them and gunzip reads them. `.Z` and `.z` differ.
  static let knownSuffixes: [KnownSuffix] = {
    let known =
      (suffixes + otherSuffixes).map { KnownSuffix($0, replacement: "") }
      + tarSuffixes.map { KnownSuffix($0, replacement: ".tar") }
    let names = Set(known.map(\.suffix))
    return known
      + known.map { KnownSuffix($0.suffix.uppercased(), replacement: $0.replacement) }
      .filter { !names.contains($0.suffix) }
  }()
}

extension [String] {
  /// An enumeration for messages: `a, b and c`.
  ///
  /// - Parameter conjunction: before the last one.
  package func list(_ conjunction: String) -> String {
    guard count > 1, let last else { return joined() }
    return dropLast().joined(separator: ", ") + " \(conjunction) " + last
  }
}
