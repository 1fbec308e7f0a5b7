import BatchEngine

/// A step that is deferred until all files are created.
struct DeferredStep: Sendable {
  enum Kind: Sendable {
    /// Deferred so that nothing is ever written through a link of the archive.
    case symbolicLink
    /// Deferred because its first name may come from another lane, or be a symbolic link.
    case hardLink
    /// A hard link with the content, as in cpio, where the first names are empty files.
    case contentOfLink
    /// Deferred because creating files changes the time of a folder.
    case folder
  }

  let kind: Kind
  let order: ExtractionOrder

  init(_ kind: Kind, _ order: ExtractionOrder) {
    self.kind = kind
    self.order = order
  }

  var isFolder: Bool { kind == .folder }
}

/// The deferred steps, in the order of the archive.
///
/// Places are stored as a name and a folder, so that a step takes memory for its name, not for its whole path.
struct DeferredSteps: Sendable {
  private struct Place: Sendable {
    let folder: FolderTree.Node
    let name: [UInt8]
  }

  private struct Stored: Sendable {
    let kind: DeferredStep.Kind
    /// The entry. Its path is stored without the place at its end; as a whole if it does not end in the place.
    let entry: ArchiveEntry
    let endsInPlace: Bool
    let place: Place
    let linkPlace: Place?
    let digest: Digest?
    let wait: MemberClaims.Wait
    let isOnWay: Bool
  }

  private(set) var folders = FolderTree()
  private var steps: [Stored?] = []
  /// The numbers of steps, by hashes of their own places and of the places they link to; built when a name first repeats.
  private var numbers: [Int: [Int]]?

  init(_ steps: [DeferredStep] = []) {
    for step in steps { append(step) }
  }

  mutating func append(_ step: DeferredStep) {
    if numbers != nil { register(step, steps.count) }
    steps.append(stored(step))
  }

  mutating func takeAll() -> DeferredSteps {
    defer { self = DeferredSteps() }
    return self
  }

  /// Removes and returns the steps that create something at a place or link to it.
  mutating func take(of place: RelativePath, where isMeant: (DeferredStep) -> Bool) -> [DeferredStep] {
    if numbers == nil {
      numbers = [:]
      for number in steps.indices { if let step = step(number) { register(step, number) } }
    }
    var taken = [DeferredStep]()
    for number in numbers?[place.bytes.hashValue] ?? [] {
      guard let step = step(number), isMeant(step),
        step.order.place.bytes == place.bytes || step.order.linkPlace?.bytes == place.bytes
      else { continue }
      steps[number] = nil
      taken.append(step)
    }
    return taken
  }

  /// Calls `body` with the orders of the steps of one kind.
  func forEach(_ kind: DeferredStep.Kind, _ body: (ExtractionOrder) throws(BatchError) -> Void)
    throws(BatchError)
  {
    for number in steps.indices where steps[number]?.kind == kind {
      if let step = step(number) { try body(step.order) }
    }
  }

  /// The numbers of the steps that describe folders, by folder.
  var numbersOfFolders: [FolderTree.Node: [Int]] {
    var numbers: [FolderTree.Node: [Int]] = [:]
    for (number, step) in steps.enumerated() {
      if let step, step.kind == .folder { numbers[step.place.folder, default: []].append(number) }
    }
    return numbers
  }

  /// A step by its number; nil if it was removed.
  func step(_ number: Int) -> DeferredStep? {
    guard steps.indices.contains(number), let stored = steps[number] else { return nil }
    var entry = stored.entry
    let place = path(of: stored.place)
    if stored.endsInPlace { entry.path = PathBytes(entry.path.bytes + place.bytes) }
    var order = ExtractionOrder(entry: entry, place: place, wait: stored.wait)
    order.isOnWay = stored.isOnWay
    order.linkPlace = stored.linkPlace.map { path(of: $0) }
    order.digest = stored.digest
    return DeferredStep(stored.kind, order)
  }

  // MARK: Storing

  private mutating func stored(_ step: DeferredStep) -> Stored {
    let order = step.order
    var entry = order.entry
    let path = entry.path.bytes
    let place = order.place.bytes
    let endsInPlace = path.count >= place.count && path.suffix(place.count).elementsEqual(place)
    if endsInPlace { entry.path = PathBytes(path.dropLast(place.count)) }
    // The place of a hard link's first name is stored anyway.
    if entry.kind == .hardLink { entry.linkTarget = nil }
    return Stored(
      kind: step.kind, entry: entry, endsInPlace: endsInPlace,
      place: step.isFolder
        ? Place(folder: folders.insert(place[...]), name: []) : self.place(of: order.place),
      linkPlace: order.linkPlace.map { self.place(of: $0) }, digest: order.digest, wait: order.wait,
      isOnWay: order.isOnWay)
  }

  private mutating func place(of path: RelativePath) -> Place {
    Place(folder: folders.insert(path.parent), name: Array(path.bytes[path.nameStart...]))
  }

  private func path(of place: Place) -> RelativePath {
    RelativePath(folder: folders.path(of: place.folder), name: place.name)
  }

  private mutating func register(_ step: DeferredStep, _ number: Int) {
    numbers?[step.order.place.bytes.hashValue, default: []].append(number)
    guard let target = step.order.linkPlace, target.bytes != step.order.place.bytes else { return }
    numbers?[target.bytes.hashValue, default: []].append(number)
  }
}
