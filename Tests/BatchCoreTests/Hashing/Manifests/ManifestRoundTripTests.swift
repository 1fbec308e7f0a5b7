import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ManifestRoundTripTests {
  @Test(arguments: ManifestFormat.allCases, [false, true])
  func everyNameIsReadBackAsItWas(format: ManifestFormat, zero: Bool) throws {
    guard !zero || format != .mtree else { return }
    let algorithms: [DigestAlgorithm] = [.sha256, .md5]
    let writer = try ManifestWriter(format, algorithms: algorithms, zero: zero)
    let folders: [PathBytes] = ["", "/absolute", "up/../and down", "../above"]
    let isLineFormat = format == .hashdeep && !zero
    let names = isLineFormat ? HostileNames.all.filter { !$0.bytes.contains(0x0a) } : HostileNames.all
    var paths: [PathBytes] = ["/set", "/unset", "/.."]
    for folder in folders { paths += names.map { folder.appending($0.bytes) } }
    var output = [UInt8]()
    writer.appendHeader(to: &output)
    for path in paths {
      let row = ManifestRow(
        path: path, digests: try algorithms.map { try Digest.of(path.bytes, $0) }, size: .max,
        modified: FileStatus.Time(seconds: -7, nanoseconds: 5))
      try writer.append(row, to: &output)
    }
    let items = try ManifestReader.items(in: output, .init(zero: zero))
    // mtree has no standard input.
    let expected = try paths.map { path in
      [format == .mtree && path == "-" ? [UInt8]("./-".utf8) : path.bytes]
        + (try algorithms.map { try Digest.of(path.bytes, $0).bytes })
    }
    let isLinePerDigest = format == .gnu || format == .bsd
    let found = items.map { item -> [[UInt8]] in
      guard case .entry(let entry) = item else { return [] }
      if !isLinePerDigest { #expect(entry.size == .max) }
      if format == .mtree || format == .json {
        #expect(entry.modified == FileStatus.Time(seconds: -7, nanoseconds: 5))
      }
      return [entry.path.bytes] + entry.digests.map(\.bytes)
    }
    #expect(found == (isLinePerDigest ? expected.flatMap { [[$0[0], $0[1]], [$0[0], $0[2]]] } : expected))
  }

  @Test(arguments: DigestAlgorithm.allCases, [ManifestFormat.gnu, .bsd, .json])
  func everyAlgorithmIsReadBack(algorithm: DigestAlgorithm, format: ManifestFormat) throws {
    let digest = try Digest.of(Array("abc".utf8), algorithm)
    let row = ManifestRow(
      path: "abc", digests: [digest], size: 3, modified: FileStatus.Time(seconds: 0, nanoseconds: 0))
    var output = [UInt8]()
    try ManifestWriter(format, algorithms: [algorithm]).append(row, to: &output)
    let entries = try ManifestReader.entries(in: output, .init(algorithm: algorithm))
    #expect(entries.map(\.digests) == [[digest]])
    #expect(entries.first?.isAlgorithmGuessed == false)
  }
}
