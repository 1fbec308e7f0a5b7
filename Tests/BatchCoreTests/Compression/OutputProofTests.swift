import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("The proof of an output")
struct OutputProofTests {
  private let fixture: TreeFixture
  private let content = SampleContent.text.bytes(700_000)

  init() throws { fixture = try TreeFixture() }

  private func prove(
    _ bytes: [UInt8], _ format: CompressionFormat, cancellation: Cancellation = Cancellation()
  ) throws {
    let digest = try DigestStream(.xxh128)
    let expected = try content.withUnsafeBytes { try digest.digest(of: $0) }
    let file = try AtomicFile(at: fixture.path("out"), replacing: false)
    try file.write(bytes.span)
    let proof = OutputProof(
      try format.makeDecoder(), digest: digest, calls: LinuxCalls(), probe: LaneProbe(cancellation),
      by: ReadingRight())
    try proof.prove(file, has: expected)
  }

  @Test("succeeds for a file that decodes to the source", arguments: CompressionFormat.writable)
  func holds(format: CompressionFormat) throws {
    try prove(format.compressed(content), format)
    try prove(format.compressedInBlocks(content), format)
  }

  @Test("fails for any other file", arguments: CompressionFormat.writable)
  func fails(format: CompressionFormat) throws {
    let right = try format.compressed(content)
    var flipped = right
    flipped[right.count / 2] ^= 4
    let wrong: [[UInt8]] = [
      [], Array(right.dropLast()), right + [7], flipped, right + right,
      try format.compressed(Array(content.dropLast())), content,
    ]
    for bytes in wrong {
      let error = #expect(throws: BatchError.self) { try prove(bytes, format) }
      #expect(error?.code == .unwritable)
      #expect(error?.path == fixture.path("out"))
    }
    #expect(fixture.files().isEmpty && fixture.openDescriptors == 0)
  }

  @Test("ends when the run is cancelled")
  func cancelled() throws {
    let cancellation = Cancellation()
    cancellation.cancel(BatchError(.cancelled, "stopped"))
    expectError(.cancelled) {
      try prove(CompressionFormat.gz.compressed(content), .gz, cancellation: cancellation)
    }
  }

  @Test(
    "of an existing file succeeds if it has the content of the source, compressed or not",
    arguments: [true, false])
  func existing(isCompressed: Bool) throws {
    let digest = try DigestStream(.xxh128)
    let expected = try content.withUnsafeBytes { try digest.digest(of: $0) }
    let decoder = isCompressed ? try CompressionFormat.zst.makeDecoder() : nil
    let proof = OutputProof(
      decoder, digest: digest, calls: LinuxCalls(), probe: LaneProbe(Cancellation()), by: ReadingRight())
    func proveExisting() throws {
      let identity = try #require(fixture.status("have")?.identity)
      let folder = try OpenFolder(of: fixture.path("have"), calls: LinuxCalls())
      let output = try ExistingOutput(fixture.path("have"), in: folder, identity, isMarked: true)
      try proof.proveExisting(output, has: expected)
    }
    let right = isCompressed ? try CompressionFormat.zst.compressed(content) : content
    try fixture.file("have", right)
    try proveExisting()
    for wrong in [Array(right.dropLast()), right + [1], Array("other".utf8), []] {
      try fixture.file("have", wrong)
      let error = #expect(throws: BatchError.self) { try proveExisting() }
      #expect(error?.code == .invalid)
      #expect(error?.remedy == .replaceOutput)
    }
  }
}
