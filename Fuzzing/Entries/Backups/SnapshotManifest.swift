@testable import BatchCore
@testable import BatchEngine

/// The lines of a backup manifest, read by the fast and by the general parser.
///
/// Both must give the same row if the fast parser accepts the line.
func fuzzSnapshotManifest(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let bytes = UnsafeBufferPointer(start: start, count: count)
  var rows = SnapshotRowParser()
  var footer = SnapshotFooter()
  for slice in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
    let line = Array(slice)
    let fast = rows.entry(line)
    guard let members = try? SnapshotLine(line) else {
      precondition(fast == nil, "a row is taken whose line is not valid")
      continue
    }
    let general = try? SnapshotEntry(members)
    if let general { write(general) }
    if let fast {
      guard let general else { preconditionFailure("a row is taken that is not valid") }
      var one = [UInt8](), other = [UInt8]()
      fast.appendLine(to: &one)
      general.appendLine(to: &other)
      precondition(one == other, "two readings of one row")
    }
    if let header = try? SnapshotHeader(members) {
      var written = [UInt8]()
      header.appendLine(to: &written)
      precondition((try? SnapshotHeader(SnapshotLine(Array(written.dropLast())))) == header, "another header")
    }
    _ = try? SnapshotSource(members)
    _ = try? footer.take(members)
  }
}

/// A row that is written must be read back unchanged by both parsers.
private func write(_ entry: SnapshotEntry) {
  var line = [UInt8]()
  entry.appendLine(to: &line)
  line.removeLast()
  precondition((try? SnapshotEntry(SnapshotLine(line))) == entry, "another row")
  var rows = SnapshotRowParser()
  if let fast = rows.entry(line) { precondition(fast == entry, "another row by the fast way") }
}
