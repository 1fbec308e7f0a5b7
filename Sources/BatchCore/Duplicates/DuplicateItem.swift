import BatchEngine

/// What the collector of a search for files with equal content requests. Small, because each file passes through several queues.
package enum DuplicateItem: Sendable {
  /// The first and the last block of a file must be read.
  case ends(Candidate)
  case whole(Candidate)

  /// A file that may have the same content as others.
  package final class Candidate: Sendable {
    let record: FileRecord
    /// The position in the order of the walk.
    let position: Int

    init(_ record: FileRecord, at position: Int) {
      self.record = record
      self.position = position
    }

    var size: Int64 { record.status.size }
  }
}

extension DuplicateItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .ends(let file), .whole(let file): file.record.path
    }
  }
}

/// A file that the walk found, or the result of a lane for one item.
package enum DuplicateRow: Sendable {
  case found(DuplicateItem.Candidate)
  /// A problem of the walk. Unlike those of lanes, it is reported at once.
  indirect case problem(Problem)
  /// The walk is at its end.
  case walked
  /// - `key`: the digest of both blocks; nil if the file could not be read, which was reported.
  case ends(DuplicateItem.Candidate, key: Digest?)
  /// - `digest`: nil if it could not be computed, which was reported.
  /// - `isRead`: whether the file was read for it and counted.
  case whole(DuplicateItem.Candidate, digest: Digest?, isRead: Bool)
}

/// Files with the same content, which are not hard links of each other.
package struct DuplicateGroup: Sendable {
  /// The size of each file in bytes.
  package let size: Int64
  /// SHA-256, or BLAKE3 if SHA-256 is not required.
  package let digest: Digest
  /// Two or more, in the order of the walk.
  package let files: [DuplicateFile]

  /// The paths; for a file with several names, the first one.
  package var paths: [PathBytes] { files.map(\.record.path) }

  /// Bytes that all files except one take.
  package var surplus: Int64 {
    let (product, isHuge) = size.multipliedReportingOverflow(by: Int64(files.count - 1))
    return isHuge ? .max : product
  }
}

/// A file that has the same content as others.
package struct DuplicateFile: Sendable {
  package let record: FileRecord
  /// Further names that the walk found; empty unless requested.
  package let furtherNames: [FileRecord]

  package var path: PathBytes { record.path }
}

/// The files of a tree, then the items that the collector requests.
package struct DuplicateSource: BatchSource {
  private var tree: TreeSource
  private var position = 0
  private var isWalked = false
  let mayRepeat: Bool
  package let asked: AskedItems<DuplicateItem>? = AskedItems()

  /// - Parameter mayRepeat: whether the tree has several operands; one file may be below several.
  package init(_ tree: TreeSource, mayRepeat: Bool) {
    self.tree = tree
    self.mayRepeat = mayRepeat
  }

  package mutating func next() -> Yielded<DuplicateItem, DuplicateRow>? {
    switch tree.next() {
    case .item(.file(let record))?:
      position += 1
      return .row(.found(DuplicateItem.Candidate(record, at: position)))
    case .item(.standardInput)?:
      let error = BatchError(.invalid, "standard input is not a file of a tree", path: "-")
      return .row(.problem(Problem(.unreadable, error)))
    case .problem(let problem)?: return .row(.problem(problem))
    case nil:
      guard !isWalked else { return nil }
      isWalked = true
      return .row(.walked)
    }
  }

  package var filteredCount: Int { tree.filteredCount }

  package func weight(of item: DuplicateItem) -> Int64 {
    switch item {
    case .ends: Int64(DuplicateJob.blockSize) * 2
    case .whole(let file): max(0, file.size)
    }
  }

  /// The file was counted when the walk found it.
  package func count(of item: DuplicateItem) -> Int { 0 }

  package func count(ofRow row: DuplicateRow) -> Int { if case .walked = row { 0 } else { 1 } }

  package func retained(byRow row: DuplicateRow) -> Int64 {
    if case .found(let file) = row { file.record.excessPathLength * 2 } else { 0 }
  }
}
