import BatchEngine

/// Finds folders with equal trees: the same names, kinds and link targets, and files with the same content.
///
/// The walk compares the shapes of folders, which are the names, kinds and sizes below them. Folders whose shape occurs once
/// are equal to no other, so only the rest needs contents. A file is a position in the walk and takes one number here.
final class FolderSearch {
  typealias Candidate = DuplicateItem.Candidate

  struct Folder {
    /// Nil for a folder that is not in question.
    var directory: DirectoryPath?
    let parent: Int?
    /// The positions of its own files and links. Those of its subfolders follow.
    var files: Range<Int>
    /// The folder after the last one below it. Folders are in the order of the walk, each before those below it.
    var end = 0
    /// Bytes and number of all regular files below it.
    var size: Int64 = 0
    var fileCount = 0
    /// How many levels of folders are below it.
    var height = 0
    /// The number of its shape; nil if something below it could not be examined or is special, so that it is equal to no other.
    var shape: Int?
    var isKnown = true
    /// Whether another folder has the same shape, and its content decides.
    var isInQuestion = false
  }

  /// What takes the place of a position in ``contents``. Links have numbers below these.
  enum Content {
    static let failed = -1
    static let empty = -2
  }

  private enum Kind: UInt8 {
    case file, link, folder
  }

  /// Smaller files are compared only where folders need it.
  let minimumSize: Int64
  private(set) var folders: [Folder] = []
  /// For each position the first known position of the same content, or a number of ``Content``.
  private(set) var contents: [Int] = []
  /// The positions of further names of a file, with that of its first name.
  private(set) var firstNames: [Int: Int] = [:]
  private var names: [FileIdentity: Candidate] = [:]
  private var targets: [PathBytes: Int] = [:]
  /// Links and small files, which are read if their folder is in question.
  private var waiting: [(folder: Int?, file: Candidate)] = []
  private let digests: DigestStream

  // The folders that the walk is in. `bytes` holds their entries, those of the outermost folder first.
  private var open: [Int] = []
  private var starts: [Int] = []
  private var bytes: [UInt8] = []
  private var shapes: [Digest: Int] = [:]
  private var shapeCounts: [Int] = []

  /// - Parameter minimumSize: the size from which files and folders are listed, in bytes.
  /// - Throws: `exhausted` when memory for a digest is missing.
  init(minimumSize: Int64) throws(BatchError) {
    self.minimumSize = max(1, minimumSize)
    digests = try DigestStream(.sha256)
  }

  // MARK: The walk

  /// Begins a folder; its files follow, then its subfolders.
  func enter(_ directory: DirectoryPath) throws(BatchError) {
    try leave(to: directory.depth)
    folders.append(
      Folder(directory: directory, parent: open.last, files: contents.count..<contents.count))
    open.append(folders.count - 1)
    starts.append(bytes.count)
  }

  /// Adds a file or a link.
  ///
  /// - Parameter mayRepeat: whether one name of a file may occur twice.
  /// - Returns: whether it is a further name of a file, and whether it waits for the end of the walk.
  func add(_ file: Candidate, mayRepeat: Bool) throws(BatchError) -> (isRepeated: Bool, waits: Bool) {
    let record = file.record
    let status = record.status
    try leave(to: record.isOperand ? 0 : record.directory.depth + 1)
    let folder = record.isOperand ? nil : open.last
    let isLink = status.kind != .regular
    if let folder {
      append(isLink ? .link : .file, number: UInt64(bitPattern: status.size)) { record.appendName(to: &$0) }
      folders[folder].files = folders[folder].files.lowerBound..<(file.position + 1)
      if !isLink {
        folders[folder].size.addClamped(max(0, status.size))
        folders[folder].fileCount += 1
      }
    }
    contents.append(isLink || status.size > 0 ? file.position : Content.empty)
    if isLink {
      waiting.append((folder, file))
      return (false, true)
    }
    var first = file
    if mayRepeat || status.linkCount > 1 {
      if let known = names[status.identity] {
        first = known
        firstNames[file.position] = known.position
      } else {
        names[status.identity] = file
      }
    }
    let isRepeated = first !== file
    guard status.size > 0, status.size < minimumSize else { return (isRepeated, false) }
    waiting.append((folder, first))
    return (isRepeated, !isRepeated)
  }

  /// Makes the folder that contains a path equal to no other.
  func miss(_ problem: Problem) {
    guard problem.event != .missing, let path = problem.error.path else { return }
    for index in open.reversed() {
      guard let directory = folders[index].directory else { continue }
      if path.bytes.starts(with: directory.prefix.bytes) || path == directory.shownPath {
        folders[index].isKnown = false
        return
      }
    }
  }

  /// Ends the walk.
  ///
  /// - Returns: the links and small files whose contents decide whether folders are equal, in the order of the walk.
  func endWalk() throws(BatchError) -> [Candidate] {
    try leave(to: 0)
    shapes = [:]
    names = [:]
    bytes = []
    for index in folders.indices {
      let folder = folders[index]
      let isShared = folder.shape.map { shapeCounts[$0] > 1 } ?? false
      let isBelow = folder.parent.map { folders[$0].isInQuestion } ?? false
      folders[index].isInQuestion = isShared && (isBelow || folder.size >= minimumSize)
      if !folders[index].isInQuestion { folders[index].directory = nil }
    }
    var known: Set<Int> = []
    let needed = waiting.filter { folder, file in
      folder.map { folders[$0].isInQuestion } ?? false && known.insert(file.position).inserted
    }
    waiting = []
    return needed.map(\.file).sorted { $0.position < $1.position }
  }

  /// Ends the folders of the walk at this depth and below it.
  private func leave(to depth: Int) throws(BatchError) {
    while open.count > depth, let index = open.popLast(), let start = starts.popLast() {
      folders[index].end = folders.count
      if folders[index].isKnown { folders[index].shape = try shape(of: bytes[start...]) }
      bytes.removeSubrange(start...)
      if let parent = open.last { add(index, to: parent) }
    }
  }

  private func add(_ index: Int, to parent: Int) {
    let folder = folders[index]
    folders[parent].size.addClamped(folder.size)
    folders[parent].fileCount += folder.fileCount
    folders[parent].height = max(folders[parent].height, folder.height + 1)
    guard let shape = folder.shape, let name = folder.directory?.name else {
      folders[parent].isKnown = false
      return
    }
    append(.folder, number: UInt64(shape)) { $0 += name }
  }

  /// Adds an entry of the innermost folder. A name ends in NUL, so that no two lists of entries have the same bytes.
  private func append(_ kind: Kind, number: UInt64, _ appendName: (inout [UInt8]) -> Void) {
    bytes.append(kind.rawValue)
    appendName(&bytes)
    bytes.append(0)
    withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
  }

  private func shape(of entries: ArraySlice<UInt8>) throws(BatchError) -> Int {
    let digest = try digests.digest(of: entries.span.bytes)
    if let known = shapes[digest] {
      shapeCounts[known] += 1
      return known
    }
    shapes[digest] = shapeCounts.count
    shapeCounts.append(1)
    return shapeCounts.count - 1
  }

  // MARK: Contents

  /// Notes that these files have the same content.
  func setEqual(_ files: [Candidate]) {
    guard let first = files.first else { return }
    for file in files { contents[file.position] = first.position }
  }

  /// Notes the target of a link; nil if it could not be read.
  func setTarget(of link: Candidate, to target: PathBytes?) {
    guard let target else { return fail(link) }
    let first = targets[target] ?? link.position
    targets[target] = first
    contents[link.position] = Content.empty - 1 - first
  }

  /// Notes that a file could not be read, or changed meanwhile.
  func fail(_ file: Candidate) { contents[file.position] = Content.failed }
}
