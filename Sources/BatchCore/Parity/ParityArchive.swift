import BatchEngine

/// The files with recovery data of one set, and the folder of the files that they protect.
package struct ParityArchive {
  package let set: ParitySet
  /// The folder in which the names of the set begin.
  let base: OpenFolder
  /// The files with recovery data.
  let volumes: [ParityInputs.File]
  /// Those that are not whole.
  package let damagedVolumes: [PathBytes]

  /// The permissions of the recovery data; nil if they are unknown.
  var permissions: UInt32? {
    for volume in volumes {
      guard case .below(let folder, let path) = volume.place,
        let status = try? folder.look(at: PathBytes(path.bytes))
      else {
        continue
      }
      return status.mode & 0o666
    }
    return nil
  }

  /// Reads the recovery data of a file.
  ///
  /// - Parameters:
  ///   - path: of the protected file, or of any of the files with recovery data.
  ///   - folder: the folder in which the names of the set begin; nil for that of `path`.
  /// - Throws: `missing` if there are none; `malformed` if they say nothing that can be used; as ``ParitySetBuilder``.
  package init(of path: PathBytes, below folder: PathBytes? = nil, in run: RunContext) throws(BatchError) {
    let opener = FolderOpener(calls: run.calls)
    let place = try opener.folder(named: path.parent)
    var names: [PathBytes] = []
    try run.calls.forEachName(in: place.raw) { names.append(PathBytes($0)) }
    let stem = ParityNames.stem(PathBytes(path.lastComponent))
    let files = ParityNames.files(of: stem, in: names)
    guard !files.isEmpty else {
      throw BatchError(
        .missing, "has no recovery data: \(ParityNames.index(stem)) does not exist", path: path)
    }
    var builder = ParitySetBuilder()
    var damaged: [PathBytes] = []
    var volumes: [ParityInputs.File] = []
    for name in files {
      let shown =
        path.parent.bytes == Array(".".utf8) && !path.bytes.starts(with: Array("./".utf8))
        ? name : path.parent.appending(name.bytes)
      volumes.append(ParityInputs.File(place: .below(place, try RelativePath(name)), shown: shown))
      // Others may be of a file whose name begins in the same way, or anything else.
      let isOwn = ParityNames.protected(name) == stem
      do throws(BatchError) {
        let opened = try ParityInputs.open(RelativePath(name), below: place, shown: shown, by: opener)
        if try Self.scan(opened, volumes.count - 1, &builder, in: run), isOwn { damaged.append(shown) }
      } catch {
        guard error.code != .cancelled else { throw error }
        if isOwn { damaged.append(shown) }
      }
    }
    let base = try folder.map { (folder) throws(BatchError) in try opener.folder(named: folder) } ?? place
    let sets = try builder.sets(at: path)
    set = sets.count == 1 ? sets[0] : Self.best(sets, of: stem, below: base, opener)
    self.base = base
    (self.volumes, damagedVolumes) = (volumes, damaged)
  }

  /// The set that describes the files that are there. Several are found beside a file that was about to be replaced, or beside another
  /// one whose name begins in the same way.
  private static func best(
    _ sets: [ParitySet], of stem: PathBytes, below base: OpenFolder, _ opener: FolderOpener
  ) -> ParitySet {
    let named = sets.filter { $0.members.contains { $0.file.name == stem } }
    // That of this file alone, before those of several files.
    let first = named.min { $0.members.count < $1.members.count } ?? sets[0]
    var best = (set: first, rank: -1)
    for set in sets where set.members.map(\.file.name).sorted() == first.members.map(\.file.name).sorted() {
      let rank = set.members.prefix(mostCompared).reduce(0) { $0 + $1.likeness(below: base, by: opener) }
      if rank > best.rank { best = (set, rank) }
    }
    return best.set
  }

  private static let mostCompared = 64

  /// - Returns: whether the file is not whole.
  private static func scan(
    _ file: borrowing Descriptor, _ index: Int, _ builder: inout ParitySetBuilder, in run: RunContext
  ) throws(BatchError) -> Bool {
    let raw = file.raw
    let size = UInt64(clamping: try run.calls.status(of: raw).size)
    var scanner = try PacketScanner(
      size: size, check: { () throws(BatchError) in try run.cancellation.check() }
    ) {
      (bytes, offset) throws(BatchError) in
      try run.calls.fill(bytes, from: raw, at: offset)
    }
    var count = 0
    try scanner.scan { (found) throws(BatchError) in
      count += 1
      try builder.add(found, volume: index)
    }
    return scanner.isDamaged || count == 0
  }
}

extension ParitySet.Member {
  static let sameSizeAndBeginning = 2

  /// How much the file that has the name looks like this one: ``sameSizeAndBeginning``, 1 for one of these, 0 for neither.
  func likeness(below base: OpenFolder, by opener: FolderOpener) -> Int {
    guard let opened = try? ParityInputs.open(path, below: base, shown: file.name, by: opener),
      let status = try? opener.calls.status(of: opened)
    else { return 0 }
    let size = Int(min(file.size, UInt64(ParityFile.beginningSize)))
    let beginning = try? [UInt8](upTo: size) { (room) throws(BatchError) in
      try opener.calls.fill(room, from: opened.raw, at: 0)
    }
    let isSame = beginning.flatMap { try? ParityHash(of: $0) } == file.beginning
    return (UInt64(clamping: status.size) == file.size ? 1 : 0) + (isSame ? 1 : 0)
  }
}
