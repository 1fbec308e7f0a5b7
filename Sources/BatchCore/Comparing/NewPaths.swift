import BatchEngine

/// Walks the directories of a record, and finds paths that are not recorded.
struct NewPaths {
  /// The name that a file would have in the record, and the file that the walk found.
  typealias Item = (path: PathBytes, record: FileRecord)

  private let live: LiveTree
  private let places: RecordedPlaces
  private var roots: ArraySlice<RecordedPlaces.Root>
  private var current: (root: RecordedPlaces.Root, tree: TreeSource)?

  /// - Parameter places: all recorded places.
  init(_ live: LiveTree, _ places: RecordedPlaces) {
    self.live = live
    self.places = places
    roots = places.roots[...]
  }

  mutating func next() -> Yielded<Item, Never>? {
    while true {
      guard case (let root, var tree)? = current else {
        guard let root = roots.popFirst() else { return nil }
        // A root that is not a directory any more, or is behind a link, is reported when its record is compared.
        if live.isFolder(root.place) { current = (root, live.tree(below: root.place)) }
        continue
      }
      let walked = tree.next()
      current = walked == nil ? nil : (root, tree)
      switch walked {
      case .item(.file(let record)):
        guard let path = path(of: record, below: root) else { continue }
        return .item((path, record))
      case .problem(let problem): return .problem(problem)
      case .item(.standardInput), nil: continue
      }
    }
  }

  /// Nil for a recorded path.
  private func path(of record: FileRecord, below root: RecordedPlaces.Root) -> PathBytes? {
    var rest = record.path.bytes.dropFirst(live.path(of: root.place).bytes.count)
    while rest.first == UInt8(ascii: "/") { rest = rest.dropFirst() }
    while rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
    let place = root.place.bytes.isEmpty ? Array(rest) : root.place.bytes + [UInt8(ascii: "/")] + rest
    return rest.isEmpty || places.has(place) ? nil : root.path.appending(rest)
  }
}
