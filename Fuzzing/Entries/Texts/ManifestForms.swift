@testable import BatchCore
import BatchEngine

/// Manifests of digests in each form, passed as a whole and in small pieces: the rows must be the same.
func fuzzManifestForms(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let input = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  let options = ManifestReader.Options(
    zero: start[0] & 1 == 1,
    algorithm: start[0] & 2 == 0 ? nil : [.md5, .sha256, .blake3][Int(start[0] >> 2) % 3])
  let rows = items(of: input, options, most: .max)
  precondition(rows == items(of: input, options, most: 1 + Int(start[0] >> 4)), "the pieces make other rows")
  for case .entry(let entry) in rows.prefix(20) {
    precondition(!entry.digests.isEmpty, "a row without a digest")
    precondition(!entry.path.containsNUL, "a path with a NUL")
    for format in ManifestFormat.allCases { write(entry, format, zero: options.zero) }
  }
}

/// The path that an mtree reader gives for a written path. A path in this form has a slash: a relative path
/// is written with `./` before it unless it has one, and the reader removes one `./`. So `./a` and `a` are
/// written as one name, and mean the same file. `-` is never standard input in this form, so the reader keeps its `./`.
private func pathInMtree(_ path: PathBytes) -> PathBytes {
  let name =
    path.bytes.starts(with: "./".utf8) && path.bytes.count > 2 ? path.bytes.dropFirst(2) : path.bytes[...]
  return name.elementsEqual("-".utf8) ? "./-" : PathBytes(name)
}

/// A row that is written in a form must be read back unchanged.
private func write(_ entry: ManifestEntry, _ format: ManifestFormat, zero: Bool) {
  // Some forms have a line for each digest.
  for digest in entry.digests {
    let row = ManifestRow(
      path: entry.path, digests: [digest], size: entry.size ?? 7, modified: entry.modified)
    var bytes: [UInt8] = []
    guard let writer = try? ManifestWriter(format, algorithms: [digest.algorithm], zero: zero) else {
      continue
    }
    writer.appendHeader(to: &bytes)
    guard (try? writer.append(row, to: &bytes)) != nil else { continue }
    let options = ManifestReader.Options(zero: zero, algorithm: digest.algorithm)
    let found = bytes.withUnsafeBytes { items(of: $0, options, most: .max) }
    guard case .entry(let read)? = found.first(where: { if case .entry = $0 { true } else { false } }) else {
      preconditionFailure("a row of \(format) that cannot be read again")
    }
    let path = format == .mtree ? pathInMtree(entry.path) : entry.path
    precondition(read.path == path && read.digests == [digest], "another row in \(format)")
    precondition(read.size == nil || read.size == row.size, "another size in \(format)")
    precondition(
      read.modified == nil || entry.modified == nil || read.modified == entry.modified,
      "another time in \(format)")
  }
}

private func items(
  of input: UnsafeRawBufferPointer, _ options: ManifestReader.Options, most: Int
) -> [ManifestItem] {
  var reader = ManifestReader(options)
  var pieces = InputPieces(input, most: most)
  var items: [ManifestItem] = []
  while let item = try? reader.next({ pieces.read(into: $0) }) {
    items.append(item)
    precondition(items.count <= input.count + 1, "more rows than bytes")
  }
  return items
}
