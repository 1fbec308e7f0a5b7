import BatchEngine

/// The beginnings of a record's names: their common prefix, and some samples.
struct NameSurvey: Sendable {
  /// More than enough names to distinguish two trees.
  private static let mostSamples = 512
  private static let mostTops = 256

  /// The folders with which all names begin.
  private(set) var prefix: [ArraySlice<UInt8>] = []
  /// Names, spread over the record.
  private(set) var samples: [RelativePath] = []
  /// The first names of paths; nil if there are many.
  private(set) var tops: Set<[UInt8]>? = []
  /// Whether there is something other than a folder at the top, or names begin with a dot.
  private(set) var isOfWholeFolder = false
  private(set) var beginsWithDot = false
  private(set) var isAbsolute = false
  private var count = 0
  private var step = 1

  /// The survey of a folder, whose names all begin in it.
  static func ofFolder(_ survey: NameSurvey) -> NameSurvey {
    var survey = survey
    survey.prefix = []
    return survey
  }

  mutating func add(_ path: PathBytes, _ place: RelativePath, isFolder: Bool) {
    let slash = UInt8(ascii: "/")
    let names = place.bytes.split(separator: slash)
    let folders = isFolder ? names[...] : names.dropLast()
    if count == 0 {
      prefix = Array(folders)
      isAbsolute = place.wasAbsolute
    } else {
      let shared = zip(prefix, folders).prefix { $0.elementsEqual($1) }.count
      prefix.removeLast(prefix.count - shared)
    }
    let startsWithDot =
      path.bytes.first == UInt8(ascii: ".") && (path.bytes.count == 1 || path.bytes[1] == slash)
    if startsWithDot { beginsWithDot = true }
    if folders.isEmpty || startsWithDot { isOfWholeFolder = true }
    if let first = folders.first {
      tops?.insert(Array(first))
      if let tops, tops.count > Self.mostTops { self.tops = nil }
    }
    if count % step == 0, !isFolder {
      samples.append(place)
      if samples.count > Self.mostSamples {
        samples = stride(from: 0, to: samples.count, by: 2).map { samples[$0] }
        step *= 2
      }
    }
    count += 1
  }

  /// Makes every unrecorded path in the folder count as new.
  mutating func takeWholeFolder() { isOfWholeFolder = true }

  /// The first folders of the prefix, with a final slash; empty for 0.
  func start(_ count: Int) -> [UInt8] {
    prefix.prefix(count).reduce(into: []) { $0 += $1 + [UInt8(ascii: "/")] }
  }

  /// The folders in which new files are searched, without the dropped names: the whole folder if everything in it counts,
  /// otherwise the folders at the top.
  ///
  /// - Parameter dropped: how many names are dropped from each path.
  func roots(dropped: Int) -> [PathBytes] {
    if dropped > 0 { return ["."] }
    if isAbsolute, !prefix.isEmpty { return [PathBytes(start(prefix.count).dropLast())] }
    guard !isOfWholeFolder, let tops, !tops.isEmpty else { return ["."] }
    return tops.map { PathBytes($0) }.sorted()
  }
}

/// How many names are dropped from the paths of two trees, so that the remaining names correspond.
package struct NameAlignment: Sendable, Hashable {
  package var recorded = 0
  package var other = 0

  package init() {}

  private init(_ recorded: Int, _ other: Int) { (self.recorded, self.other) = (recorded, other) }

  /// - Parameters:
  ///   - recorded: the survey of the reference's names.
  ///   - other: the survey of the other side's names; nil for a folder, whose names begin in it.
  ///   - folder: the names in the path of the folder, if one side is a folder.
  ///   - exists: whether the other side has a path.
  init(
    _ recorded: NameSurvey, _ other: NameSurvey?, folder: [ArraySlice<UInt8>],
    exists: (RelativePath) -> Bool
  ) {
    let (most, mostOther) = (recorded.prefix.count, other?.prefix.count ?? 0)
    // The names begin with the folder itself.
    var choices: [NameAlignment] = []
    for count in stride(from: min(most, folder.count), to: 0, by: -1)
    where folder.suffix(count).elementsEqual(recorded.prefix.prefix(count), by: { $0.elementsEqual($1) }) {
      choices.append(NameAlignment(count, 0))
    }
    for count in stride(from: min(mostOther, folder.count), to: 0, by: -1) {
      guard let prefix = other?.prefix.prefix(count) else { break }
      if folder.suffix(count).elementsEqual(prefix, by: { $0.elementsEqual($1) }) {
        choices.append(NameAlignment(0, count))
      }
    }
    let all = (0...most).flatMap { one in (0...mostOther).map { NameAlignment(one, $0) } }
    choices += all.sorted { ($0.recorded + $0.other, $0.recorded) < ($1.recorded + $1.other, $1.recorded) }
    var best = (choice: choices.first ?? NameAlignment(), count: -1)
    for choice in choices {
      let start = other?.start(choice.other) ?? []
      let count = recorded.samples.count { name in
        guard let rest = name.dropping(choice.recorded),
          let place = try? RelativePath(PathBytes(start + rest.bytes))
        else { return false }
        return exists(place)
      }
      if count > best.count { best = (choice, count) }
      if count == recorded.samples.count, count > 0 { break }
    }
    self = best.count > 0 ? best.choice : choices.first ?? NameAlignment()
  }
}
