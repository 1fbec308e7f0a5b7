import BatchEngine

/// Groups files by size, by their ends, and by their digests, and asks for what has to be read for the next step.
package final class DuplicateCollector: BatchCollector {
  private typealias Candidate = DuplicateItem.Candidate

  private struct EndKey: Hashable {
    let size: Int64
    let key: Digest
  }

  private let context: CollectorContext
  private let asked: AskedItems<DuplicateItem>?
  /// Whether one name of a file may come twice.
  private let mayRepeat: Bool
  /// Whether further names of a file are kept.
  private let keepsNames: Bool
  /// Whether a cache may know the digest of a file, so that its ends say too little about the others.
  private let knowsDigests: Bool
  private let report: ([DuplicateGroup]) throws(BatchError) -> Void
  /// The first file of a size, or all of them once there are two.
  private var sizes: [Int64: [Candidate]] = [:]
  /// Files with several names that came by.
  private var names: Set<FileIdentity> = []
  private var furtherNames: [FileIdentity: [FileRecord]] = [:]
  private var count = 0
  private var ends: [EndKey: [Candidate]] = [:]
  private var awaitedEnds = 0
  private var contents: [EndKey: [Candidate]] = [:]

  init(
    _ asked: AskedItems<DuplicateItem>?, mayRepeat: Bool, knowsDigests: Bool, keepsNames: Bool,
    _ context: CollectorContext,
    _ report: @escaping ([DuplicateGroup]) throws(BatchError) -> Void
  ) {
    self.asked = asked
    self.mayRepeat = mayRepeat
    self.knowsDigests = knowsDigests
    self.keepsNames = keepsNames
    self.context = context
    self.report = report
  }

  package func collect(_ rows: [DuplicateRow]) {
    for row in rows {
      switch row {
      case .found(let record): add(record)
      case .walked: askForEnds()
      case .ends(let file, let key):
        if let key { ends[EndKey(size: file.record.status.size, key: key), default: []].append(file) }
        awaitedEnds -= 1
        if awaitedEnds == 0 { askForContents() }
      case .whole(let file, let digest, let isRead):
        if !isRead { context.counters.addDone() }
        if let digest {
          contents[EndKey(size: file.record.status.size, key: digest), default: []].append(file)
        }
      }
    }
  }

  package func finish() throws(BatchError) {
    var groups: [(position: Int, group: DuplicateGroup)] = []
    for (key, files) in contents where files.count > 1 {
      let files = files.sorted { $0.position < $1.position }
      guard let first = files.first else { continue }
      groups.append(
        (
          first.position,
          DuplicateGroup(
            size: key.size, digest: key.key,
            files: files.map { file in
              DuplicateFile(
                record: file.record, furtherNames: furtherNames[file.record.status.identity] ?? [])
            })
        ))
    }
    groups.sort { ($1.group.surplus, $0.position) < ($0.group.surplus, $1.position) }
    try report(groups.map(\.group))
  }

  private func add(_ record: FileRecord) {
    let isFirst =
      !(mayRepeat || record.status.linkCount > 1) || names.insert(record.status.identity).inserted
    if !isFirst, keepsNames, record.status.linkCount > 1 {
      furtherNames[record.status.identity, default: []].append(record)
    }
    guard isFirst, record.status.size > 0 else {
      return isFirst ? context.counters.addDone() : context.counters.addSkipped(.repeated)
    }
    sizes[record.status.size, default: []].append(Candidate(record: record, position: count))
    count += 1
  }

  private func askForEnds() {
    names = []
    var files: [Candidate] = []
    for group in sizes.values {
      if group.count > 1 {
        files += group
      } else {
        context.counters.addDone()
      }
    }
    sizes = [:]
    files.sort { $0.position < $1.position }
    let isShort = { (file: Candidate) in
      self.knowsDigests || file.record.status.size <= DuplicateJob.shortSize
    }
    let long = files.filter { !isShort($0) }
    awaitedEnds = long.count
    asked?.ask(files.filter(isShort).map { .whole($0) } + long.map { .ends($0) })
  }

  private func askForContents() {
    var files: [Candidate] = []
    for group in ends.values {
      if group.count > 1 {
        files += group
      } else {
        context.counters.addDone()
      }
    }
    ends = [:]
    files.sort { $0.position < $1.position }
    asked?.ask(files.map { .whole($0) })
  }
}
