@testable import BatchCore
@testable import BatchEngine

/// A file in memory that holds the input.
private nonisolated(unsafe) let file = InputFile(isNamed: true)

/// A whole backup manifest, unchanged and with a repaired digest and place of its footer.
func fuzzSnapshotFiles(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  read(bytes)
  guard let mended = mended(bytes) else { return }
  read(mended)
}

private func read(_ bytes: [UInt8]) {
  guard bytes.withUnsafeBytes({ file.hold($0) }) else { return }
  let context = SourceContext(RunContext())
  let manifest = ManifestFile(PathBytes(file.path))
  let isRight = (try? SnapshotReader.check(manifest, in: context)) != nil
  let facts = try? SnapshotReader.facts(manifest, in: context)
  guard let reader = try? SnapshotReader(manifest, in: context) else { return }
  var rows = 0
  var isWhole = false
  do {
    while let item = try reader.next() {
      rows += 1
      precondition(rows <= bytes.count, "more rows than bytes")
      if case .entry(let entry, _) = item {
        precondition(!entry.path.isEmpty && !entry.path.containsNUL, "a row without a path")
      }
    }
    isWhole = true
  } catch {}
  guard isRight, isWhole, let facts else { return }
  precondition(facts.header == reader.header, "two headers")
}

/// The manifest with the digest of all bytes before the last line stored in that line.
private func mended(_ bytes: [UInt8]) -> [UInt8]? {
  let lines = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
  guard let newline = lines.lastIndex(of: UInt8(ascii: "\n")) else { return nil }
  let before = Array(lines[...newline])
  let key = Array(#""manifest_sha256":""#.utf8)
  let line = Array(lines[(newline + 1)...])
  guard let place = line.indices.first(where: { line[$0...].starts(with: key) }),
    let stream = try? DigestStream(.sha256),
    let digest = try? withBytes(of: before, { (raw) throws(BatchError) in try stream.digest(of: raw) })
  else { return nil }
  return before + line[..<place] + key + Array("\(digest.hex)\"}\n".utf8)
}
