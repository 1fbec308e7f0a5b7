import BatchEngine

/// Goes through the directories that an archive has, and finds what it has not.
struct NewFiles {
  private let live: LiveTree
  private let places: MemberPlaces
  private var roots: ArraySlice<MemberPlaces.Root>
  private var current: (root: MemberPlaces.Root, tree: TreeSource)?

  /// - Parameter places: those of all members.
  init(_ live: LiveTree, _ places: MemberPlaces) {
    self.live = live
    self.places = places
    roots = places.roots[...]
  }

  mutating func next() -> VerifySource.Item? {
    while true {
      guard case (let root, var tree)? = current else {
        guard let root = roots.popFirst() else { return nil }
        // What is no directory any more, or lies behind a link, is reported as a member.
        if live.folder.isFolder(root.place.bytes[...]) { current = (root, live.tree(below: root.place)) }
        continue
      }
      let item = tree.next()
      current = item == nil ? nil : (root, tree)
      switch item {
      case .file(let record):
        guard let path = path(of: record, below: root) else { continue }
        return VerifySource.Item(step: .new(path))
      case .problem(let problem): return VerifySource.Item(step: .problem(problem))
      case .standardInput, nil: continue
      }
    }
  }

  /// The name that the archive would have for it; nil for what it has.
  private func path(of record: FileRecord, below root: MemberPlaces.Root) -> PathBytes? {
    var rest = record.path.bytes.dropFirst(live.path(of: root.place).bytes.count)
    while rest.first == UInt8(ascii: "/") { rest = rest.dropFirst() }
    while rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
    let place = root.place.bytes.isEmpty ? Array(rest) : root.place.bytes + [UInt8(ascii: "/")] + rest
    return rest.isEmpty || places.has(place) ? nil : root.path.appending(rest)
  }
}
