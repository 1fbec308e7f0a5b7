import BatchEngine

/// Groups files by size, by their first and last blocks, and by their digests. As soon as two files agree, it requests the
/// reads of the next step, while the walk continues.
package final class DuplicateCollector: BatchCollector {
  private typealias Candidate = DuplicateItem.Candidate

  private struct EndKey: Hashable {
    let size: Int64
    let key: Digest
  }

  /// The first file of each key, while no other file has the key.
  private struct Firsts<Key: Hashable> {
    enum Met {
      case first
      case second(Candidate)
      case further
    }

    private var files: [Key: Candidate?] = [:]

    mutating func add(_ file: Candidate, _ key: Key) -> Met { Self.add(file, &files[key]) }

    /// Returns how many files are alone, and removes all.
    mutating func removeAll() -> Int {
      defer { files = [:] }
      return files.values.count { $0 != nil }
    }

    private static func add(_ file: Candidate, _ known: inout Candidate??) -> Met {
      switch known {
      case nil:
        known = .some(file)
        return .first
      case .some(nil): return .further
      case .some(let first?):
        known = .some(nil)
        return .second(first)
      }
    }
  }

  /// Where the files of one content are stored.
  private enum Place {
    case alone(Candidate)
    case group(Int)
  }

  private let context: CollectorContext
  private let asked: AskedItems<DuplicateItem>?
  /// Whether one name of a file may occur twice.
  private let mayRepeat: Bool
  /// Whether further names of a file are recorded.
  private let keepsNames: Bool
  /// Whether a cache may provide the digest of a file without its first and last blocks.
  private let knowsDigests: Bool
  private let report: (DuplicateGroups) throws(BatchError) -> Void
  /// Nil if only files are compared.
  private let folders: FolderSearch?
  /// How many files and links wait for the end of the walk.
  private var waitingCount = 0
  private var sizes = Firsts<Int64>()
  /// The first files of sizes that occur several times: read after the walk, so that the order is kept.
  private var first: [Candidate] = []
  /// Files with several names that were found.
  private var names: Set<FileIdentity> = []
  private var furtherNames: [FileIdentity: [FileRecord]] = [:]
  private var isWalked = false
  /// Problems of files that were read before the end of the walk: reported after it, so that their order is the same in each run.
  private var problems: [(problem: Problem, severity: Severity)] = []
  private var ends = Firsts<EndKey>()
  private var awaitedEnds = 0
  private var contents: [Digest: Place] = [:]
  private var groups: [(digest: Digest, files: [Candidate])] = []
  private var next: [DuplicateItem] = []

  init(
    _ asked: AskedItems<DuplicateItem>?, _ folders: FolderSearch?, mayRepeat: Bool, knowsDigests: Bool,
    keepsNames: Bool, _ context: CollectorContext,
    _ report: @escaping (DuplicateGroups) throws(BatchError) -> Void
  ) {
    self.asked = asked
    self.folders = folders
    self.mayRepeat = mayRepeat
    self.knowsDigests = knowsDigests
    self.keepsNames = keepsNames
    self.context = context
    self.report = report
  }

  package func collect(_ rows: [DuplicateRow]) throws(BatchError) {
    for row in rows {
      switch row {
      case .folder(let directory): try folders?.enter(directory)
      case .found(let file): try add(file)
      case .problem(let problem):
        folders?.miss(problem)
        context.report(problem)
      case .walked: try endWalk()
      case .ends(let file, let key):
        awaitedEnds -= 1
        if let key { add(file, ends: EndKey(size: file.size, key: key)) } else { folders?.fail(file) }
        countDifferentEnds()
      case .whole(let file, let digest, let isRead):
        if !isRead { context.counters.addDone() }
        if let digest { add(file, content: digest) } else { folders?.fail(file) }
      case .target(let link, let target):
        if target != nil { context.counters.addDone() }
        folders?.setTarget(of: link, to: target)
      }
    }
    asked?.ask(next)
    next.removeAll(keepingCapacity: true)
  }

  package func hold(_ problem: Problem, severity: Severity) -> Bool {
    guard !isWalked else { return false }
    problems.append((problem, severity))
    return true
  }

  package func finish() throws(BatchError) {
    for (_, files) in groups { folders?.setEqual(files) }
    let folderGroups = folders.map { FolderGroups($0) }
    let minimum = folders?.minimumSize ?? 1
    var found = groups.compactMap { digest, files -> (position: Int, group: DuplicateGroup)? in
      guard files[0].size >= minimum, !(folderGroups.map { files.allSatisfy($0.cover) } ?? false) else {
        return nil
      }
      let files = files.sorted { $0.position < $1.position }
      return (position: files[0].position, group: group(files, digest))
    }
    found.sort { ($1.group.surplus, $0.position) < ($0.group.surplus, $1.position) }
    try report(DuplicateGroups(folders: folderGroups?.groups ?? [], files: found.map(\.group)))
  }

  package func discard() { reportProblems() }

  private func group(_ files: [Candidate], _ digest: Digest) -> DuplicateGroup {
    DuplicateGroup(
      size: files[0].size, digest: digest,
      files: files.map { file in
        DuplicateFile(record: file.record, furtherNames: furtherNames[file.record.status.identity] ?? [])
      })
  }

  // MARK: The walk

  private func add(_ file: Candidate) throws(BatchError) {
    let status = file.record.status
    var isFirst = true
    if let folders {
      let (isRepeated, waits) = try folders.add(file, mayRepeat: mayRepeat)
      guard !waits else { return waitingCount += 1 }
      isFirst = !isRepeated
    } else if mayRepeat || status.linkCount > 1 {
      isFirst = names.insert(status.identity).inserted
    }
    if !isFirst, keepsNames, status.linkCount > 1 {
      furtherNames[status.identity, default: []].append(file.record)
    }
    guard isFirst, status.size > 0 else {
      return isFirst ? context.counters.addDone() : context.counters.addSkipped(.repeated)
    }
    switch sizes.add(file, status.size) {
    case .first: return
    case .second(let known): first.append(known)
    case .further: break
    }
    compare(file)
  }

  private func endWalk() throws(BatchError) {
    isWalked = true
    reportProblems()
    names = []
    context.counters.addDone(sizes.removeAll())
    for file in first.sorted(by: { $0.position < $1.position }) { compare(file) }
    first = []
    if let needed = try folders?.endWalk() {
      context.counters.addDone(waitingCount - needed.count)
      for file in needed {
        if file.record.status.kind == .regular { compare(file) } else { next.append(.target(file)) }
      }
    }
    countDifferentEnds()
  }

  private func reportProblems() {
    for (problem, severity) in problems { context.report(problem, severity: severity) }
    problems = []
  }

  // MARK: Comparing

  private func compare(_ file: Candidate) {
    if knowsDigests || file.size <= DuplicateJob.shortSize { return next.append(.whole(file)) }
    awaitedEnds += 1
    next.append(.ends(file))
  }

  private func add(_ file: Candidate, ends key: EndKey) {
    switch ends.add(file, key) {
    case .first: return
    case .second(let known): next.append(.whole(known))
    case .further: break
    }
    next.append(.whole(file))
  }

  /// Counts the files whose first and last blocks no other file has.
  private func countDifferentEnds() {
    guard isWalked, awaitedEnds == 0 else { return }
    context.counters.addDone(ends.removeAll())
  }

  private func add(_ file: Candidate, content digest: Digest) {
    switch contents[digest] {
    case nil: contents[digest] = .alone(file)
    case .alone(let other):
      contents[digest] = .group(groups.count)
      groups.append((digest, [other, file]))
    case .group(let index): groups[index].files.append(file)
    }
  }
}
