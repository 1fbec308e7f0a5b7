import BatchEngine
import BatchOutputs

/// Makes recovery data for some files.
package struct ParityEncoder {
  /// A file to protect.
  package struct Source: Sendable {
    /// The name in the packets.
    let name: PathBytes
    let file: ParityInputs.File
    let size: UInt64

    /// A file below a folder.
    package static func below(_ folder: OpenFolder, _ path: RelativePath, shown: PathBytes, size: UInt64)
      -> Source
    {
      Source(
        name: PathBytes(path.bytes), file: ParityInputs.File(place: .below(folder, path), shown: shown),
        size: size)
    }

    /// An output that has no name yet.
    package static func output(_ output: HeldOutput, name: PathBytes, shown: PathBytes, size: UInt64)
      -> Source
    {
      Source(name: name, file: ParityInputs.File(place: .open(output), shown: shown), size: size)
    }
  }

  private let sources: [Source]
  private let options: ParityOptions
  package let layout: ParityLayout
  private let run: RunContext

  /// - Parameter sources: with different names.
  /// - Throws: as ``ParityLayout``; `invalid` for a name that is too long for a packet.
  package init(_ sources: [Source], _ options: ParityOptions, in run: RunContext) throws(BatchError) {
    (self.sources, self.options, self.run) = (sources, options, run)
    layout = try ParityLayout(sources.map(\.size), options)
    var names: Set<PathBytes> = []
    for source in sources where !names.insert(source.name).inserted {
      throw BatchError(.invalid, "given twice", path: source.file.shown)
    }
  }

  /// Bytes that the rows of recovery blocks may take.
  static func rowMemory(_ options: BatchOptions) -> Int {
    max(options.memory / 8, options.memory / 2 - options.concurrency * ParityRowsJob.laneMemory)
  }

  /// Reads the files, and computes their recovery data.
  ///
  /// - Parameter folder: where a temporary file is made if the rows do not fit into memory.
  /// - Throws: the error of reading; `changed` if a file is not what it was.
  package func encode(scratchIn folder: OpenFolder) throws(BatchError) -> EncodedParity {
    let files = try described()
    let inputs = ParityInputs(files: files.map(\.source.file))
    var places: [BlockPlace] = []
    places.reserveCapacity(layout.blockCount)
    for (index, file) in files.enumerated() {
      for offset in stride(from: UInt64(0), to: file.source.size, by: layout.blockSize) {
        places.append(
          BlockPlace(
            file: index, offset: offset, length: Int(min(UInt64(layout.blockSize), file.source.size - offset))
          ))
      }
    }
    let rows = try ParityRows(
      count: layout.recoveryCount, blockSize: layout.blockSize, memory: Self.rowMemory(run.options),
      scratchIn: folder)
    let exponents = (0..<layout.recoveryCount).map { UInt16($0) }
    let factors = ParityFactors(blockCount: places.count, exponents: exponents)
    var hashes = files.map(\.beginning)
    var checksums: [BlockChecksum?] = Array(repeating: nil, count: places.count)
    for (number, pass) in rows.passes.enumerated() {
      if number > 0 { rows.clear() }
      let job = ParityRowsJob(
        inputs: inputs, places: places, blockSize: layout.blockSize, factors: factors, rows: rows, pass: pass,
        progress: run.counters)
      let whole = files.enumerated().filter { $0.element.source.size > UInt64(ParityFile.beginningSize) }
      let source = ParityRowsSource(
        job, wholeFiles: number == 0 ? whole.map { ($0.offset, $0.element.source.size) } : [],
        withChecksums: number == 0, lanes: run.concurrency.current)
      for result in try run.step(job, over: source) {
        switch result {
        case .file(let index, let hash): hashes[index] = hash
        case .checksums(let blocks, let sums):
          for (block, sum) in zip(blocks, sums) { checksums[block] = sum }
        }
      }
      try rows.keep(pass)
    }
    try compareAgain(files.map { ($0.source, $0.status) })
    let sums = checksums.compactMap { $0 }
    let described = zip(files, hashes).map { (file, hash) in
      ParityFile(
        id: file.id, hash: hash, beginning: file.beginning, size: file.source.size, name: file.source.name)
    }
    return try EncodedParity(
      described, checksums: sums, layout: layout, rows: rows, volumes: options.volumeCount)
  }

  private typealias Described = (source: Source, id: ParityHash, beginning: ParityHash, status: FileStatus)

  /// The files in the order of their identities.
  private func described() throws(BatchError) -> [Described] {
    var found: [Described] = []
    for source in sources {
      try run.cancellation.check()
      let size = Int(min(source.size, UInt64(ParityFile.beginningSize)))
      let (bytes, status) = try use(source) { (file) throws(BatchError) in
        let bytes = try [UInt8](upTo: size) { (room) throws(BatchError) in
          try run.calls.fill(room, from: file, at: 0, path: source.file.shown)
        }
        return (bytes, try run.calls.status(of: file))
      }
      guard bytes.count == size, status.size == Int64(clamping: source.size) else {
        throw BatchError(.changed, "changed while it was read", path: source.file.shown)
      }
      let beginning = try ParityHash(of: bytes)
      let id = try ParityFile.id(beginning: beginning, size: source.size, name: source.name.bytes)
      found.append((source, id, beginning, status))
    }
    return found.sorted { $0.id < $1.id }
  }

  private func compareAgain(_ files: [(source: Source, status: FileStatus)]) throws(BatchError) {
    for (source, before) in files {
      let now = try use(source) { (file) throws(BatchError) in try run.calls.status(of: file) }
      guard now.hasSameContent(as: before) else {
        throw BatchError(.changed, "changed while it was read", path: source.file.shown)
      }
    }
  }

  private func use<Value>(
    _ source: Source, _ body: (Int32) throws(BatchError) -> Value
  ) throws(BatchError) -> Value {
    switch source.file.place {
    case .open(let held): return try body(held.raw)
    case .below(let base, let path):
      let opened = try ParityInputs.open(
        path, below: base, shown: source.file.shown, by: FolderOpener(calls: run.calls))
      return try body(opened.raw)
    }
  }
}

/// Recovery data that are not written yet.
package struct EncodedParity {
  private let set: ParityHash
  private let critical: [UInt8]
  private let rows: ParityRows
  package let layout: ParityLayout
  private let volumeCount: Int

  fileprivate init(
    _ files: [ParityFile], checksums: [BlockChecksum], layout: ParityLayout, rows: ParityRows, volumes: Int
  ) throws(BatchError) {
    (self.layout, self.rows, volumeCount) = (layout, rows, volumes)
    let main = ParityPacket.mainBody(blockSize: layout.blockSize, files: files.map(\.id))
    let set = try ParityHash(of: main)
    self.set = set
    var bytes = try ParityPacket(kind: .main, set: set, body: main).bytes()
    var first = 0
    for file in files {
      bytes += try ParityPacket(kind: .file, set: set, body: ParityPacket.fileBody(file)).bytes()
      let count = file.blockCount(of: UInt64(layout.blockSize)) ?? 0
      guard count > 0 else { continue }
      let body = ParityPacket.checksumBody(file.id, Array(checksums[first..<(first + count)]))
      bytes += try ParityPacket(kind: .checksums, set: set, body: body).bytes()
      first += count
    }
    let creator = ParityPacket.creatorBody("Created by batchproc.")
    critical = bytes + (try ParityPacket(kind: .creator, set: set, body: creator).bytes())
  }

  /// The names of the files, the index last.
  ///
  /// - Parameter isTaken: whether a volume may not have a name; then its numbers get more zeros.
  private func names(_ stem: PathBytes, _ isTaken: (PathBytes) -> Bool) -> [PathBytes] {
    for further in 0..<Self.mostZeros {
      let names = volumes.map {
        ParityNames.volume(
          stem, first: $0.lowerBound, count: $0.count, most: layout.recoveryCount, zeros: further)
      }
      if further == Self.mostZeros - 1 || !names.contains(where: isTaken) {
        return names + [ParityNames.index(stem)]
      }
    }
    return []
  }

  private static let mostZeros = 8

  private var volumes: [Range<Int>] {
    let count = min(max(1, volumeCount), layout.recoveryCount)
    return (0..<count).map {
      (layout.recoveryCount * $0 / count)..<(layout.recoveryCount * ($0 + 1) / count)
    }
  }

  /// Writes the files under temporary names.
  ///
  /// - Parameters:
  ///   - stem: the name without the suffixes, with the folder.
  ///   - isReplacing: whether existing files are replaced.
  ///   - besides: whether existing volumes keep their names all the same, since they are the recovery data of a file until it is
  ///     replaced.
  /// - Throws: the error of writing; `invalid` if a name is taken.
  package func write(
    at stem: PathBytes, in folder: OpenFolder, isReplacing: Bool, besides: Bool = false
  ) throws(BatchError) -> WrittenParity {
    var files: [AtomicFile] = []
    let names = names(stem) { name in
      besides && (try? folder.look(at: PathBytes(name.lastComponent))) != .some(nil)
    }
    for (volume, name) in zip(volumes, names) {
      let file = try open(name, in: folder, isReplacing && !besides)
      try write(volume, to: file)
      files.append(file)
    }
    if let name = names.last {
      let file = try open(name, in: folder, isReplacing)
      try file.write(critical.span)
      files.append(file)
    }
    return try WrittenParity(files, names)
  }

  private func open(
    _ name: PathBytes, in folder: OpenFolder, _ isReplacing: Bool
  ) throws(BatchError) -> AtomicFile {
    try AtomicFile.check(name, in: folder, isReplacing: isReplacing)
    return try AtomicFile(at: name, in: folder, replacing: isReplacing)
  }

  /// The packets that describe the set stand before and after the recovery blocks, so that damage at one end is no harm.
  private func write(_ volume: Range<Int>, to file: AtomicFile) throws(BatchError) {
    try file.write(critical.span)
    let stream = try DigestStream(.md5)
    for row in volume {
      let hashed =
        set.bytes + Array(ParityPacket.Kind.recovery.rawValue.utf8) + UInt32(row).littleEndianBytes
      try withBytes(of: hashed) { (bytes) throws(BatchError) in try stream.update(bytes) }
      try rows.read(row, length: layout.blockSize) { (bytes) throws(BatchError) in try stream.update(bytes) }
      let start = ParityPacket.start(bodySize: 4 + layout.blockSize, hash: ParityHash(try stream.finish()))
      try file.write((start + hashed).span)
      try rows.read(row, length: layout.blockSize) { (bytes) throws(BatchError) in try file.write(bytes) }
    }
    try file.write(critical.span)
  }
}
