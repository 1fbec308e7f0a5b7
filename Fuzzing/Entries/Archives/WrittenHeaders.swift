@testable import BatchCore
@testable import BatchEngine

private nonisolated(unsafe) let headers = try? TarHeaders()

/// Names and numbers of a file as tar headers: the header of the program must be the one that libarchive
/// makes for the member, and must pass the checks for headers that are read.
func fuzzWrittenHeaders(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard let headers, count > 24 else { return }
  let input = UnsafeRawBufferPointer(start: start, count: count)
  let kinds = ArchiveEntry.Kind.allCases
  let kind = kinds[Int(start[0]) % kinds.count]
  let parts = input[24...].split(separator: 0, maxSplits: 3, omittingEmptySubsequences: false).map {
    Array($0)
  }
  let isLink = kind == .symbolicLink || kind == .hardLink
  var path = parts[0]
  while path.last == UInt8(ascii: "/") { path.removeLast() }
  let target = parts.count > 1 ? parts[1] : [UInt8(ascii: "t")]
  guard !path.isEmpty, !target.isEmpty, !(parts.last?.contains(0) ?? false) else { return }
  let entry = ArchiveEntry(
    path: PathBytes(path), kind: kind,
    size: kind == .file ? input.loadUnaligned(fromByteOffset: 1, as: UInt64.self) >> (start[1] & 63) : 0,
    mode: UInt32(input.loadUnaligned(fromByteOffset: 9, as: UInt16.self)) & 0o7777,
    owner: input.loadUnaligned(fromByteOffset: 11, as: UInt32.self) >> UInt32(start[15] & 31),
    group: UInt32(start[16]),
    ownerName: parts.count > 2 ? parts[2] : [], groupName: parts.count > 3 ? parts[3] : [],
    modified: FileStatus.Time(
      seconds: Int64(input.loadUnaligned(fromByteOffset: 17, as: Int32.self))
        << Int64(start[0] & 16 == 0 ? 0 : 3),
      nanoseconds: Int32(input.loadUnaligned(fromByteOffset: 21, as: UInt16.self)) * 15_000),
    linkTarget: isLink ? PathBytes(target) : nil)
  var own: [UInt8] = []
  guard entry.size <= UInt64(Int64.max), (try? UstarHeader.append(entry, to: &own)) == true else {
    guard entry.size <= UInt64(Int64.max), (try? headers.append(entry, to: &own)) != nil else { return }
    own.withUnsafeBytes { check($0) }
    return
  }
  var library: [UInt8] = []
  precondition((try? headers.appendByLibrary(entry, to: &library)) != nil, "libarchive refuses it")
  precondition(own == library, "other headers than libarchive's")
  own.withUnsafeBytes { check($0) }
}

private func check(_ bytes: UnsafeRawBufferPointer) {
  precondition(bytes.count.isMultiple(of: TarBlock.size), "no whole blocks")
  precondition((try? TarHeaderScan(bytes).check()) != nil, "headers that would be refused")
}
