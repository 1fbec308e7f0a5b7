import BatchEngine

/// What was found of the files of a set.
package struct ParityInspection {
  /// A file of the set.
  package struct File: Sendable {
    package enum State: String, Sendable {
      case whole, damaged, missing
    }

    package let path: PathBytes
    package let state: State
    package let blockCount: Int
    /// How many of its blocks were found, anywhere.
    package let foundCount: Int
    /// Whether some of its bytes could not be read.
    package let isUnreadable: Bool
  }

  package let archive: ParityArchive
  package let files: [File]
  let places: [BlockPlace?]
  /// The members, then files in which blocks were searched too.
  let inputs: ParityInputs
  /// The status of each member; nil if it is missing.
  let statuses: [FileStatus?]

  /// How many blocks were not found.
  package var missingCount: Int { places.count { $0 == nil } }
  package var recoveryCount: Int { archive.set.recovery.count }
  package var isWhole: Bool { files.allSatisfy { $0.state == .whole } }
  package var isRepairable: Bool {
    missingCount <= recoveryCount
      && (missingCount == 0 || archive.set.members.allSatisfy { $0.checksums != nil })
  }

  /// Why the damaged files cannot be repaired; nil if they can.
  package var tooFew: BatchError? {
    guard !isRepairable else { return nil }
    return BatchError(
      .malformed,
      missingCount > recoveryCount
        ? "cannot be repaired, and stays as it is: \(missingCount) blocks are missing, and there are \(recoveryCount) recovery blocks"
        : "cannot be repaired, and stays as it is: checksums of blocks are missing in the recovery data",
      path: files.first { $0.state != .whole }?.path)
  }

  private static let blocksOfItem = 16
  private static let searchSize: UInt64 = 16 << 20

  /// Reads the files of a set.
  ///
  /// - Parameter extra: further files in which blocks are searched.
  /// - Throws: why the run was stopped.
  package init(_ archive: ParityArchive, extra: [PathBytes] = [], in run: RunContext) throws(BatchError) {
    self.archive = archive
    let set = archive.set
    let base = archive.base
    var inputs = ParityInputs(
      files: set.members.map {
        let isBare = base.path.bytes == Array(".".utf8)
        let shown = isBare ? PathBytes($0.path.bytes) : base.path.appending($0.path.bytes)
        return ParityInputs.File(place: .below(base, $0.path), shown: shown)
      })
    let statuses = inputs.files.map { Self.status(of: $0, in: run) }
    var extraSizes: [UInt64] = []
    for path in extra where !ParityNames.isParity(path) {
      let file = ParityInputs.File(
        place: .below(
          try run.folders.folder(named: path.parent), try RelativePath(PathBytes(path.lastComponent))),
        shown: path)
      guard let status = Self.status(of: file, in: run) else { continue }
      inputs.files.append(file)
      extraSizes.append(UInt64(clamping: status.size))
    }
    let job = BlockScanJob(set: set, inputs: inputs, lookup: BlockLookup(set), progress: run.counters)
    var items: [BlockScanJob.Item] = []
    var owners: [Int] = []
    for (index, member) in set.members.enumerated() {
      guard let status = statuses[index] else { continue }
      let size = UInt64(clamping: status.size)
      guard member.checksums != nil else {
        items.append(.whole(member: index, size: size))
        owners.append(index)
        continue
      }
      for start in stride(from: member.firstBlock, to: member.blocks.upperBound, by: Self.blocksOfItem) {
        let blocks = start..<min(member.blocks.upperBound, start + Self.blocksOfItem)
        items.append(.aligned(member: index, blocks: blocks, size: size))
        owners.append(index)
      }
    }
    var places = [BlockPlace?](repeating: nil, count: set.blockCount)
    var unreadable: Set<Int> = []
    for (owner, result) in zip(owners, try run.step(job, over: BlockScanSource(items))) {
      if result.isUnreadable { unreadable.insert(owner) }
      for (block, place) in result.places
      where places[block] == nil || set.members[place.file].blocks.contains(block) {
        places[block] = place
      }
    }
    let wholeMembers = set.members.indices.map { index in
      let member = set.members[index]
      guard let status = statuses[index], UInt64(clamping: status.size) == member.file.size else {
        return false
      }
      return member.blocks.allSatisfy { block in
        guard let place = places[block] else { return false }
        return place.file == index
          && place.offset == UInt64(block - member.firstBlock) * UInt64(set.blockSize)
      }
    }
    if places.contains(where: { $0 == nil }) {
      var further: [BlockScanJob.Item] = []
      for (index, status) in statuses.enumerated() {
        guard let status, !wholeMembers[index] else { continue }
        let size = UInt64(clamping: status.size)
        let gaps = Self.gaps(of: index, size: size, places, set)
        further += gaps.flatMap { Self.searches(of: index, $0, size: size, blockSize: set.blockSize) }
      }
      for (index, size) in extraSizes.enumerated() {
        further += Self.searches(
          of: set.members.count + index, 0..<size, size: size, blockSize: set.blockSize)
      }
      for result in try run.step(job, over: BlockScanSource(further)) {
        for (block, place) in result.places where places[block] == nil { places[block] = place }
      }
    }
    self.places = places
    self.inputs = inputs
    self.statuses = statuses
    let shown = inputs.files
    let found = set.members.map { member in member.blocks.count { places[$0] != nil } }
    files = set.members.enumerated().map { (index, member) in
      File(
        path: shown[index].shown,
        state: wholeMembers[index] ? .whole : statuses[index] == nil ? .missing : .damaged,
        blockCount: member.blockCount, foundCount: found[index],
        isUnreadable: unreadable.contains(index))
    }
  }

  /// Opens a file of the set to read it.
  ///
  /// - Throws: the error of opening it.
  package func open(_ file: Int, in run: RunContext) throws(BatchError) -> Descriptor {
    try ParityInputs.open(
      archive.set.members[file].path, below: archive.base, shown: files[file].path,
      by: FolderOpener(calls: run.calls))
  }

  /// The status of a regular file that can be opened.
  private static func status(of file: ParityInputs.File, in run: RunContext) -> FileStatus? {
    guard case .below(let base, let path) = file.place,
      let opened = try? ParityInputs.open(
        path, below: base, shown: file.shown, by: FolderOpener(calls: run.calls))
    else { return nil }
    return try? run.calls.status(of: opened)
  }

  /// The ranges of a file that are no known blocks where they belong.
  private static func gaps(of index: Int, size: UInt64, _ places: [BlockPlace?], _ set: ParitySet) -> [Range<
    UInt64
  >] {
    let known = places.compactMap { $0 }.filter { $0.file == index }.sorted { $0.offset < $1.offset }
    var gaps: [Range<UInt64>] = []
    var end: UInt64 = 0
    for place in known {
      if place.offset > end { gaps.append(end..<place.offset) }
      end = max(end, place.offset + UInt64(place.length))
    }
    if end < size { gaps.append(end..<size) }
    return gaps
  }

  private static func searches(
    of file: Int, _ gap: Range<UInt64>, size: UInt64, blockSize: Int
  ) -> [BlockScanJob.Item] {
    let step = max(searchSize, UInt64(blockSize) * 4)
    return stride(from: gap.lowerBound, to: gap.upperBound, by: Int(step)).map {
      .anywhere(file: file, starts: $0..<min(gap.upperBound, $0 + step), end: gap.upperBound, size: size)
    }
  }
}
