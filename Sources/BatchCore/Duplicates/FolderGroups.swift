import BatchEngine

/// The groups of folders with equal trees, made when all contents are known.
struct FolderGroups {
  private let folders: [FolderSearch.Folder]
  private let minimumSize: Int64
  /// For each folder the first one that was found with the same tree; nil if it is equal to no other.
  private var trees: [Int?]
  /// The same, where only names of the same files count as equal.
  private var files: [Int?]
  /// Whether a folder is listed, or lies in one that is.
  private var isCovered: [Bool]
  /// The largest first.
  private(set) var groups: [DuplicateFolderGroup] = []

  init(_ search: FolderSearch) {
    folders = search.folders
    minimumSize = search.minimumSize
    trees = Array(repeating: nil, count: folders.count)
    files = trees
    isCovered = Array(repeating: false, count: folders.count)
    compare(search)
    list()
  }

  /// Whether a file lies in a folder that is listed.
  func cover(_ file: DuplicateItem.Candidate) -> Bool {
    // The positions of the own files of folders rise.
    var (low, high) = (0, folders.count)
    while low < high {
      let middle = (low + high) / 2
      if folders[middle].files.lowerBound <= file.position { low = middle + 1 } else { high = middle }
    }
    return low > 0 && folders[low - 1].files.contains(file.position) && isCovered[low - 1]
  }

  // MARK: Comparing

  private mutating func compare(_ search: FolderSearch) {
    let hasFurtherNames = !search.firstNames.isEmpty
    var knownTrees: [[Int]: Int] = [:]
    var knownFiles: [[Int]: Int] = [:]
    // Each folder after those below it.
    for index in folders.indices.reversed() where folders[index].isInQuestion {
      guard let key = key(of: index, in: search, below: trees, isByName: false) else { continue }
      trees[index] = Self.first(key, index, in: &knownTrees)
      files[index] = index
      if hasFurtherNames, let key = self.key(of: index, in: search, below: files, isByName: true) {
        files[index] = Self.first(key, index, in: &knownFiles)
      }
    }
  }

  /// What all folders with the same tree have in common; nil for a folder that is equal to no other.
  ///
  /// - Parameters:
  ///   - below: the first equal folders of those below it.
  ///   - isByName: whether only names of the same file have the same content.
  private func key(
    of index: Int, in search: FolderSearch, below: [Int?], isByName: Bool
  ) -> [Int]? {
    let folder = folders[index]
    guard let shape = folder.shape else { return nil }
    var key = [shape]
    for position in folder.files {
      let first = search.firstNames[position] ?? position
      let content = search.contents[first]
      if content == FolderSearch.Content.failed { return nil }
      key.append(isByName && content >= 0 ? first : content)
    }
    var child = index + 1
    while child < folder.end {
      guard let tree = below[child] else { return nil }
      key.append(tree)
      child = folders[child].end
    }
    return key
  }

  private static func first(_ key: [Int], _ index: Int, in known: inout [[Int]: Int]) -> Int {
    if let first = known[key] { return first }
    known[key] = index
    return index
  }

  // MARK: Listing

  /// Lists groups from the highest folders down, so that folders above are known to be listed or not.
  private mutating func list() {
    var listed: [[Int]] = []
    let levels = Dictionary(grouping: folders.indices.filter { trees[$0] != nil }) { folders[$0].height }
    for (_, level) in levels.sorted(by: { $0.key > $1.key }) {
      for index in level { isCovered[index] = folders[index].parent.map { isCovered[$0] } ?? false }
      for members in Dictionary(grouping: level, by: { trees[$0] }).values where members.count > 1 {
        guard let group = group(members) else { continue }
        for index in group { isCovered[index] = true }
        listed.append(group)
      }
    }
    groups = listed.map { (position: $0[0], group: found($0)) }
      .sorted { ($1.group.surplus, $0.position) < ($0.group.surplus, $1.position) }.map(\.group)
  }

  /// The folders of a group without further names of the same files; nil if it is not listed.
  private func group(_ members: [Int]) -> [Int]? {
    guard folders[members[0]].size >= minimumSize else { return nil }
    var known: Set<Int?> = []
    let group = members.filter { known.insert(files[$0]).inserted }
    return group.count > 1 && !group.allSatisfy { isCovered[$0] } ? group : nil
  }

  private func found(_ group: [Int]) -> DuplicateFolderGroup {
    let first = folders[group[0]]
    return DuplicateFolderGroup(
      size: first.size, fileCount: first.fileCount,
      paths: group.compactMap { folders[$0].directory?.shownPath })
  }
}

/// Folders with the same names, kinds, contents and link targets below them.
package struct DuplicateFolderGroup: Sendable {
  /// The sizes of all files below each folder in bytes.
  package let size: Int64
  /// The number of files below each folder.
  package let fileCount: Int
  /// Two or more, in the order of the walk.
  package let paths: [PathBytes]

  /// Bytes that all folders except one take.
  package var surplus: Int64 {
    let (product, isHuge) = size.multipliedReportingOverflow(by: Int64(paths.count - 1))
    return isHuge ? .max : product
  }
}
