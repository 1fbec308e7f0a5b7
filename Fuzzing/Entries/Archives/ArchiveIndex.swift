@testable import BatchCore
@testable import BatchEngine

/// The index of an archive: as it is stored, with a repaired digest, or a decompressed page of it.
func fuzzArchiveIndex(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let input = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  if start[0].isMultiple(of: 2) {
    guard let page = MemberPage(input) else { return }
    var builder = MemberPageBuilder()
    for index in 0..<page.count {
      let row = page.row(index)
      let member = ArchivedMember(
        path: page.path(index), kind: row.kind, size: row.size, modified: row.modified,
        flags: row.flags, offset: row.offset, header: HeaderChecksum(size: row.headerSize, check: 0))
      builder.add(member, frame: UInt32(row.frame))
    }
    precondition(builder.take() == input, "another page")
    return
  }
  guard let stream = try? DigestStream(.sha256), let digest = try? digest(input, stream) else { return }
  let size: UInt64 = 1 << 20
  guard
    let index = try? StoredIndex.read(
      IndexExtent(input + digest.bytes), checks: false, size: size, memory: 64 << 20)
  else { return }
  // The frames of an accepted index must lie within the archive.
  for frame in index.frames { precondition(frame.compressed.upperBound <= size) }
}

private func digest(_ bytes: [UInt8], _ stream: DigestStream) throws(BatchError) -> Digest {
  try withBytes(of: bytes) { (raw) throws(BatchError) in try stream.update(raw) }
  return try stream.finish()
}
