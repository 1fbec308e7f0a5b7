import BatchEngine

/// One step of a search for files with equal content. Small, because each file passes through several queues.
package enum DuplicateItem: Sendable {
  case found(Candidate)
  indirect case other(WalkItem)
  case walked
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
    case .found(let file), .ends(let file), .whole(let file): file.record.path
    case .other, .walked: nil
    }
  }
}

/// The result of a lane for one item.
package enum DuplicateRow: Sendable {
  case found(DuplicateItem.Candidate)
  indirect case problem(Problem)
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

  package mutating func next() -> DuplicateItem? {
    if let item = tree.next() {
      guard case .file(let record) = item else { return .other(item) }
      position += 1
      return .found(DuplicateItem.Candidate(record, at: position))
    }
    guard !isWalked else { return nil }
    isWalked = true
    return .walked
  }

  package var filteredCount: Int { tree.filteredCount }

  package func weight(of item: DuplicateItem) -> Int64 {
    switch item {
    case .found, .other, .walked: 0
    case .ends: Int64(DuplicateJob.blockSize) * 2
    case .whole(let file): max(0, file.size)
    }
  }

  package func count(of item: DuplicateItem) -> Int {
    switch item {
    case .found, .other: 1
    case .walked, .ends, .whole: 0
    }
  }

  package func retained(by item: DuplicateItem) -> Int64 {
    if case .found(let file) = item { file.record.excessPathLength * 2 } else { 0 }
  }
}
