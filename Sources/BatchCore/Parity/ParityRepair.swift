import BatchEngine
import BatchOutputs
import var Glibc.EEXIST
import var Glibc.EMLINK
import var Glibc.ENOSYS
import var Glibc.ENOTSUP
import var Glibc.EPERM

/// Rebuilds the damaged and missing files of a set. A file is replaced only when what was rebuilt has all its checksums.
package struct ParityRepair {
  /// A file that was rebuilt.
  package struct Repaired: Sendable {
    package let path: PathBytes
    /// The name of the damaged file, which was kept; nil if there was none, or it was replaced.
    package let kept: PathBytes?
  }

  /// The suffix of a damaged file that is kept.
  package static let damagedSuffix = Array(".damaged".utf8)

  /// The bytes after which the disk begins to write a rebuilt file.
  private static let bytesPerSync: UInt64 = 16 << 20

  private let found: ParityInspection
  private let run: RunContext
  private let isSynced: Bool
  /// Whether damaged files are kept.
  private let keepsDamaged: Bool

  package init(_ found: ParityInspection, keepsDamaged: Bool, isSynced: Bool, in run: RunContext) {
    (self.found, self.keepsDamaged, self.isSynced, self.run) = (found, keepsDamaged, isSynced, run)
  }

  private var set: ParitySet { found.archive.set }

  /// - Parameters:
  ///   - spared: the indices of files that stay as they are.
  ///   - prove: checks a rebuilt file before it gets its name.
  /// - Returns: the files.
  /// - Throws: `malformed` if too few blocks are there, and nothing was changed; `unwritable`; `changed` if a file is not the one that
  ///   was examined.
  package func repair(
    sparing spared: Set<Int> = [],
    proving prove: (consuming Descriptor, PathBytes) throws(BatchError) -> Void = { _, _ in }
  ) throws(BatchError) -> [Repaired] {
    if let error = found.tooFew { throw error }
    let missing = found.places.indices.filter { found.places[$0] == nil }
    let order = order(
      of: found.files.indices.filter { found.files[$0].state != .whole && !spared.contains($0) })
    let inputs = try holding(order)
    var rest = order[...]
    let rows = try rebuild(missing)
    let row = Dictionary(uniqueKeysWithValues: missing.enumerated().map { ($0.element, $0.offset) })
    let reader = BlockReader(inputs, by: FolderOpener(calls: run.calls))
    var repaired: [Repaired] = []
    // Blocks of a file may be in another one, so files are proved before the first of them is replaced.
    while !rest.isEmpty {
      var proved: [Proved] = []
      for index in rest.prefix(Self.mostProved) {
        try run.cancellation.check()
        proved.append(try build(index, rows, row, reader, prove))
      }
      rest = rest.dropFirst(Self.mostProved)
      reader.close()
      for file in proved { repaired.append(try commit(file)) }
    }
    return repaired
  }

  /// The damaged files in an order in which as few as possible are replaced while a later one needs blocks of them: first those of
  /// which no other one needs any.
  private func order(of damaged: [Int]) -> [Int] {
    guard damaged.count > Self.mostProved else { return damaged }
    let all = Set(damaged)
    var needs: [Int: Set<Int>] = [:]
    var users: [Int: Int] = [:]
    for file in damaged {
      let others = Set(set.members[file].blocks.compactMap { found.places[$0]?.file })
      needs[file] = others.intersection(all).subtracting([file])
      for other in needs[file] ?? [] { users[other, default: 0] += 1 }
    }
    var order: [Int] = []
    var ordered: Set<Int> = []
    var free = damaged.filter { users[$0, default: 0] == 0 }
    var rest = damaged[...]
    while ordered.count < damaged.count {
      let next: Int
      if let file = free.popLast() {
        next = file
      } else if let file = rest.popFirst() {
        next = file
      } else {
        break
      }
      guard ordered.insert(next).inserted else { continue }
      order.append(next)
      for other in (needs[next] ?? []).sorted() {
        users[other, default: 0] -= 1
        if users[other] == 0, !ordered.contains(other) { free.append(other) }
      }
    }
    return order
  }

  private typealias Proved = (index: Int, output: AtomicFile, folder: OpenFolder)

  /// How many rebuilt files wait for their names at once; each needs two descriptors.
  private static let mostProved = 32
  /// How many damaged files stay open after they were replaced.
  private static let mostHeld = 64
  /// The descriptors that a repair needs.
  package static let descriptors = 2 * mostProved + mostHeld

  /// The inputs, in which a damaged file stays open if it is replaced while a later one needs blocks of it.
  ///
  /// - Parameter damaged: the indices of the files that are rebuilt, in their order.
  /// - Throws: `exhausted` if too many files would stay open; nothing was changed.
  private func holding(_ damaged: [Int]) throws(BatchError) -> ParityInputs {
    var inputs = found.inputs
    let turns = Dictionary(
      uniqueKeysWithValues: damaged.enumerated().map { ($0.element, $0.offset / Self.mostProved) })
    var held: Set<Int> = []
    for file in damaged {
      for place in set.members[file].blocks.compactMap({ found.places[$0] }) {
        guard let turn = turns[place.file], let own = turns[file], turn < own,
          held.insert(place.file).inserted
        else { continue }
        guard held.count <= Self.mostHeld else {
          throw BatchError(
            .exhausted, "too many damaged files hold blocks of each other", path: found.files[file].path)
        }
        let input = inputs.files[place.file]
        guard case .below(let base, let path) = input.place else { continue }
        let opened = try ParityInputs.open(
          path, below: base, shown: input.shown, by: FolderOpener(calls: run.calls))
        inputs.files[place.file] = ParityInputs.File(place: .open(HeldOutput(opened)), shown: input.shown)
      }
    }
    return inputs
  }

  /// Computes the missing blocks.
  private func rebuild(_ missing: [Int]) throws(BatchError) -> ParityRows {
    let known = found.places.indices.filter { found.places[$0] != nil }
    let memory = ParityEncoder.rowMemory(run.options)
    let rows = try ParityRows(
      count: missing.count, blockSize: set.blockSize, memory: memory, scratchIn: found.archive.base)
    guard !missing.isEmpty else { return rows }
    let matrix = try ParityMatrix(missing: missing, known: known, set, memory: memory) {
      () throws(BatchError) in
      try run.cancellation.check()
    }
    var inputs = found.inputs
    let firstVolume = inputs.files.count
    inputs.files += found.archive.volumes
    let places =
      known.compactMap { found.places[$0] }
      + matrix.recovery.map {
        BlockPlace(file: firstVolume + $0.volume, offset: $0.offset, length: set.blockSize)
      }
    for (number, pass) in rows.passes.enumerated() {
      if number > 0 { rows.clear() }
      let job = ParityRowsJob(
        inputs: inputs, places: places, blockSize: set.blockSize, factors: matrix.factors, rows: rows,
        pass: pass,
        progress: run.counters)
      _ = try run.step(
        job,
        over: ParityRowsSource(job, wholeFiles: [], withChecksums: false, lanes: run.concurrency.current))
      try rows.keep(pass)
    }
    return rows
  }

  private func build(
    _ index: Int, _ rows: ParityRows, _ row: [Int: Int], _ reader: BlockReader,
    _ prove: (consuming Descriptor, PathBytes) throws(BatchError) -> Void
  ) throws(BatchError) -> Proved {
    let member = set.members[index]
    let shown = found.files[index].path
    let folder = try folder(of: member, shown)
    let output = try AtomicFile(at: shown, in: folder, replacing: true)
    let whole = try DigestStream(.md5)
    let digest = try BlockDigest()
    let buffer = AlignedRegion(byteCount: 256 << 10)
    var written: UInt64 = 0
    var begun: UInt64 = 0
    for block in member.blocks {
      try run.cancellation.check()
      let length = set.length(of: block, in: member)
      func take(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
        try whole.update(bytes)
        try output.write(bytes)
        written += UInt64(bytes.count)
        guard isSynced, written - begun >= Self.bytesPerSync else { return }
        // The disk writes while the next blocks are read.
        try output.beginSync(of: begun..<written)
        begun = written
      }
      if let place = found.places[block] {
        var column = 0
        while column < length {
          let piece = UnsafeMutableRawBufferPointer(
            rebasing: buffer.bytes[..<min(buffer.byteCount, length - column)])
          try reader.read(place, from: column, into: piece)
          try take(UnsafeRawBufferPointer(piece))
          column += piece.count
        }
      } else if let row = row[block] {
        // The other blocks were compared when they were found; the MD5 of the file tells if one changed since.
        try rows.read(row, length: length) { (bytes) throws(BatchError) in
          try digest.add(bytes)
          try take(bytes)
        }
        let sum = try digest.finish(zeros: set.blockSize - length)
        guard member.checksums.map({ $0[block - member.firstBlock] == sum }) ?? true else {
          throw differs(shown)
        }
      }
    }
    guard ParityHash(try whole.finish()) == member.file.hash else { throw differs(shown) }
    try prove(Descriptor(owning: try output.openForReading(syncing: false)), shown)
    return (index, output, folder)
  }

  private func commit(_ file: Proved) throws(BatchError) -> Repaired {
    let shown = found.files[file.index].path
    let status = found.statuses[file.index]
    let now = try file.folder.look(at: PathBytes(shown.lastComponent))
    // A link in the place of a missing file was not followed.
    let isExpected =
      status.map { now?.identity == $0.identity && now?.hasSameContent(as: $0) == true }
      ?? (now == nil || now?.kind == .symbolicLink)
    guard isExpected else {
      throw BatchError(.changed, "changed while it was repaired, and stays as it is", path: shown)
    }
    let kept = try keep(now, as: shown, in: file.folder)
    var metadata = AtomicFile.Metadata()
    if let status {
      metadata = AtomicFile.Metadata(of: status)
      metadata.times = .init(accessed: status.modified, modified: status.modified)
    } else if let permissions = found.archive.permissions {
      // A missing file is not readable by more users than its recovery data.
      metadata = AtomicFile.Metadata(permissions: permissions)
    }
    try file.output.commit(metadata, syncing: isSynced, by: run.commits)
    return Repaired(path: shown, kept: kept)
  }

  private func differs(_ path: PathBytes) -> BatchError {
    BatchError(
      .malformed, "cannot be repaired: what was rebuilt has other checksums", path: path)
  }

  private func folder(of member: ParitySet.Member, _ shown: PathBytes) throws(BatchError) -> OpenFolder {
    let base = found.archive.base
    guard !member.path.parent.isEmpty else { return base }
    do throws(BatchError) {
      // Opened again for the sync of its names.
      return try FolderOpener(calls: run.calls).make(
        member.path.parent, below: base, shown: shown.parent, made: { _, _ in }
      ).readable()
    } catch {
      throw BatchError.output("make the folder of the output", errno: error.errno, path: shown)
    }
  }

  /// Gives the damaged file a second name. It keeps the first one until the rebuilt file replaces it.
  private func keep(
    _ status: FileStatus?, as shown: PathBytes, in folder: OpenFolder
  ) throws(BatchError) -> PathBytes? {
    guard status != nil, keepsDamaged else { return nil }
    let name = PathBytes(shown.lastComponent)
    for attempt in 1...100 {
      let suffix = Self.damagedSuffix + (attempt == 1 ? [] : Array(".\(attempt)".utf8))
      let other = PathBytes(name.bytes + suffix)
      var failed = -folder.calls.link(name, in: folder.raw, as: other, in: folder.raw)
      if Self.hasNoLinks(failed) {
        failed = -folder.calls.renameKeeping(name, in: folder.raw, to: other, in: folder.raw)
      }
      if failed == 0 { return PathBytes(shown.bytes + suffix) }
      guard Self.isTaken(failed) else {
        throw BatchError.output("keep the damaged file", errno: failed, path: shown)
      }
    }
    throw BatchError(.unwritable, "too many damaged files are kept already", path: shown)
  }
}

extension ParityRepair {
  private static func isTaken(_ number: Int32) -> Bool { number == EEXIST }

  /// Whether the file system has no hard links.
  private static func hasNoLinks(_ number: Int32) -> Bool {
    [EPERM, EMLINK, ENOTSUP, ENOSYS].contains(number)
  }
}
