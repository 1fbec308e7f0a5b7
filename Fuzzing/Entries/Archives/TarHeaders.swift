@testable import BatchCore
import BatchEngine

/// Headers of tar members one after the other, unchanged; and the input as the records of one pax header.
func fuzzTarHeaders(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let input = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  var records = PaxRecords()
  take(input, &records)
  // A header of the type x or g, the records, and the header of the member.
  var member = [UInt8](repeating: 0, count: 512)
  member[156] = start[0].isMultiple(of: 2) ? UInt8(ascii: "x") : UInt8(ascii: "g")
  let digits = String(input.count, radix: 8)
  member.replaceSubrange(124..<135, with: (String(repeating: "0", count: 11 - digits.count) + digits).utf8)
  member += input
  member += [UInt8](repeating: 0, count: (512 - member.count % 512) % 512 + 512)
  member.withUnsafeBytes { take($0, &records) }
  // Global records apply to the next member.
  [UInt8](repeating: 0, count: 512).withUnsafeBytes { take($0, &records) }
}

private func take(_ bytes: UnsafeRawBufferPointer, _ records: inout PaxRecords) {
  let headers = TarHeaderScan(bytes)
  if headers.isExtended, headers.holdOnlyTimes {
    precondition((try? headers.check()) != nil, "times that are not valid")
  }
  var size = 0
  _ = try? headers.forEachRecord { (record) throws(BatchError) in
    size += record.key.count + record.value.count
  }
  precondition(size <= bytes.count, "records of more bytes than there are")
  _ = try? headers.check()
  var entry = ArchiveEntry(path: "name", kind: .file)
  _ = try? records.apply(headers, to: &entry)
  _ = records.remark
}
