import BatchEngine

/// What the collector of a search for files with equal content requests. Small, because each file passes through several queues.
package enum DuplicateItem: Sendable {
  /// The first and the last block of a file must be read.
  case ends(Candidate)
  case whole(Candidate)
  /// The target of a symbolic link must be read, to compare folders.
  case target(Candidate)

  /// A file that may have the same content as others, or a link in a folder that may be equal to others.
  package final class Candidate: Sendable {
    let record: FileRecord
    /// The position in the order of the walk, from 0.
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
    case .ends(let file), .whole(let file), .target(let file): file.record.path
    }
  }
}

/// A file that the walk found, or the result of a lane for one item.
package enum DuplicateRow: Sendable {
  /// A folder, if folders are compared. What it contains follows.
  case folder(DirectoryPath)
  /// A file, or a link if folders are compared.
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
  /// - `target`: nil if the link could not be read, which was reported.
  case target(DuplicateItem.Candidate, PathBytes?)
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

/// All groups of a search, those that take the most space first.
package struct DuplicateGroups: Sendable {
  /// Groups of folders, if they are compared.
  package let folders: [DuplicateFolderGroup]
  /// Groups of files, without those whose files all lie in folders of a group.
  package let files: [DuplicateGroup]
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

  /// - Parameters:
  ///   - tree: yields everything if folders are compared.
  ///   - mayRepeat: whether the tree has several operands; one file may be below several.
  package init(_ tree: TreeSource, mayRepeat: Bool) {
    self.tree = tree
    self.mayRepeat = mayRepeat
  }

  package mutating func next() -> Yielded<DuplicateItem, DuplicateRow>? {
    switch tree.next() {
    case .item(.file(let record))?:
      switch record.status.kind {
      case .directory: return .row(.folder(record.directory))
      case .regular, .symbolicLink:
        defer { position += 1 }
        return .row(.found(DuplicateItem.Candidate(record, at: position)))
      case let kind: return .row(.problem(.special(kind, at: record.path)))
      }
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
    case .target: 0
    }
  }

  /// The file was counted when the walk found it.
  package func count(of item: DuplicateItem) -> Int { 0 }

  package func count(ofRow row: DuplicateRow) -> Int {
    switch row {
    case .walked, .folder: 0
    default: 1
    }
  }

  package func retained(byRow row: DuplicateRow) -> Int64 {
    if case .found(let file) = row { file.record.excessPathLength * 2 } else { 0 }
  }
}
