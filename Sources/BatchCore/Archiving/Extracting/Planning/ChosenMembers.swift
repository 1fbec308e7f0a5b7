import BatchEngine

/// Which members of an index are selected, and which of these a later member with the same name supersedes.
///
/// It takes one byte for each member, and 8 more for its name while it is built.
struct ChosenMembers {
  private typealias Candidate = (number: Int, kind: ArchiveEntry.Kind, place: [UInt8]?)

  /// Empty if all members are selected.
  private var chosen: [Bool] = []
  private var superseded: Set<Int> = []

  /// - Parameter findsSuperseded: whether superseded members are searched.
  /// - Throws: `malformed` for a damaged index; the reason, when the run is to stop.
  init(
    _ archive: IndexedArchive, _ planner: ExtractionPlanner, findsSuperseded: Bool
  ) throws(BatchError) {
    guard findsSuperseded || !planner.takesEverything else { return }
    if !planner.takesEverything { chosen = [Bool](repeating: false, count: archive.index.count) }
    var names = RepeatedNames(upTo: findsSuperseded ? archive.index.count : 0)
    try archive.index.forEachMember(archive.file.cancellation) { number, member in
      if !chosen.isEmpty {
        chosen[number] = planner.chooses(member.path, isDirectory: member.kind == .directory)
      }
      guard findsSuperseded, isChosen(number), let place = planner.selection.place(of: member.path) else {
        return
      }
      names.add(place.bytes)
    }
    let repeated = names.takeAll()
    guard !repeated.isEmpty else { return }
    var candidates: [Candidate] = []
    try archive.index.forEachMember(archive.file.cancellation) { number, member in
      guard isChosen(number), let place = planner.selection.place(of: member.path) else { return }
      let isRepeated = repeated.contains(place.bytes.hashValue)
      if isRepeated || member.kind == .hardLink {
        candidates.append((number, member.kind, isRepeated ? place.bytes : nil))
      }
    }
    findSuperseded(among: candidates)
  }

  func isChosen(_ number: Int) -> Bool { chosen.isEmpty || chosen[number] }

  /// Whether a selected member is superseded, so that it is not created.
  func isSuperseded(_ number: Int) -> Bool { !superseded.isEmpty && superseded.contains(number) }

  /// Goes from the last member to the first. A member is not superseded if a hard link between it and the later one may link to
  /// it: an index does not contain the targets of links, and some links lead to their own names.
  private mutating func findSuperseded(among candidates: [Candidate]) {
    var later: [[UInt8]: Int] = [:]
    var link: Int?
    for (number, kind, place) in candidates.reversed() {
      // For folders, each description is valid until the next one.
      if let place, let next = later.updateValue(number, forKey: place), kind != .directory,
        link.map({ $0 > next }) ?? true
      {
        superseded.insert(number)
      } else if kind == .hardLink {
        link = number
      }
    }
  }
}
