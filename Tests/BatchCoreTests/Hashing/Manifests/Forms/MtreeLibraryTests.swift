import CArchive
import Glibc
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Reads our mtree manifests with libarchive.
@Suite struct MtreeLibraryTests {
  @Test func libarchiveReadsNamesSizesTimesAndDigests() throws {
    let names = HostileNames.all.map(\.bytes)
    let writer = try ManifestWriter(.mtree, algorithms: [.sha256])
    var manifest = [UInt8]()
    writer.appendHeader(to: &manifest)
    let stream = try DigestStream(.sha256)
    var expected: [[UInt8]: Digest] = [:]
    for name in names {
      let digest = try name.withUnsafeBytes { try stream.digest(of: $0) }
      expected[Array("./t/".utf8) + name] = digest
      try writer.append(
        ManifestRow(
          path: PathBytes(Array("t/".utf8) + name), digests: [digest], size: UInt64(name.count),
          modified: FileStatus.Time(seconds: 1_000_000_000, nanoseconds: 123_456_789)), to: &manifest)
    }

    let archive = try #require(archive_read_new())
    defer { archive_read_free(archive) }
    #expect(archive_read_support_format_mtree(archive) == ARCHIVE_OK)
    #expect(
      manifest.withUnsafeBytes { archive_read_open_memory(archive, $0.baseAddress, $0.count) } == ARCHIVE_OK)
    var entry: OpaquePointer?
    var found: [[UInt8]: Digest] = [:]
    while archive_read_next_header(archive, &entry) == ARCHIVE_OK {
      let name = try #require(archive_entry_pathname(entry))
      let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
      let digest = try #require(archive_entry_digest(entry, Int32(ARCHIVE_ENTRY_DIGEST_SHA256)))
      found[Array(bytes)] = Digest(.sha256, bytes: UnsafeBufferPointer(start: digest, count: 32))
      #expect(archive_entry_mtime(entry) == 1_000_000_000)
      #expect(archive_entry_mtime_nsec(entry) == 123_456_789)
    }
    #expect(found == expected)
  }
}
