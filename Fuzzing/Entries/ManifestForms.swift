@testable import BatchCore
import BatchEngine

/// Manifests of digests in every form, with all of the input at once and in small pieces: the rows are the same.
func fuzzManifestForms(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let input = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  let options = ManifestReader.Options(
    zero: start[0] & 1 == 1,
    algorithm: start[0] & 2 == 0 ? nil : [.md5, .sha256, .blake3][Int(start[0] >> 2) % 3])
  let rows = items(of: input, options, most: .max)
  precondition(rows == items(of: input, options, most: 1 + Int(start[0] >> 4)), "the pieces make other rows")
  for case .entry(let entry) in rows {
    precondition(!entry.digests.isEmpty, "a row without a digest")
    precondition(!entry.path.containsNUL, "a path with a NUL")
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
