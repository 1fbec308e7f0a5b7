import BatchEngine

/// The file selection of a backup as its manifest stores it, so that a restore knows what the snapshot leaves out.
///
/// It is a list of words, `KEY` or `KEY=VALUE`, in the order of the rules: `exclude` and `include` with a pattern, `folder` with the
/// working folder of the run, `file` with an absolute path, `min-size` and `max-size` in bytes, `newer` and `older` with a time, `ignore-files`, `caches`. Another
/// word means that this version cannot tell what was left out.
package struct SnapshotFilter: Sendable, Hashable {
  /// A longer list is not stored, only the fact that there is one; in bytes.
  private static let longest = 1 << 16
  private static let unknown = Array("other".utf8)
  private static let equals = UInt8(ascii: "=")

  /// That of a backup without options of selection.
  static let none = SnapshotFilter(words: [])

  private let words: [[UInt8]]

  /// Whether nothing is left out.
  var isEmpty: Bool { words.isEmpty }

  /// - Parameters:
  ///   - walk: its selection is stored.
  ///   - ownFiles: the absolute paths of the files that the walk excludes by their identities; nil if unknown.
  init(_ walk: WalkOptions, ownFiles: [PathBytes]? = nil) {
    var words: [[UInt8]] = []
    func add(_ key: String, _ value: [UInt8]) { words.append(Array(key.utf8) + [Self.equals] + value) }
    let rules = walk.filter?.givenRules ?? []
    if !rules.isEmpty { add("folder", WorkingFolder.absolute("").bytes) }
    for rule in rules { add(rule.option == .include ? "include" : "exclude", rule.pattern.bytes) }
    if let size = walk.minimumSize { add("min-size", Array("\(size)".utf8)) }
    if let size = walk.maximumSize { add("max-size", Array("\(size)".utf8)) }
    if let time = walk.age.after { add("newer", Array(time.decimal.utf8)) }
    if let time = walk.age.before { add("older", Array(time.decimal.utf8)) }
    if walk.readsIgnoreFiles { words.append(Array("ignore-files".utf8)) }
    if walk.skipsCaches { words.append(Array("caches".utf8)) }
    for path in ownFiles ?? [] { add("file", path.bytes) }
    let isKnown =
      (walk.excluded.isEmpty || ownFiles != nil) && !walk.followsLinks && !words.contains { $0.contains(0) }
    let size = words.reduce(0) { $0 + $1.count + 1 }
    self.words = isKnown && size <= Self.longest ? words : [Self.unknown]
  }

  /// The absolute paths of files that are left out.
  var files: [PathBytes] {
    let key = Array("file=".utf8)
    return words.filter { $0.starts(with: key) }.map { PathBytes($0.dropFirst(key.count)) }
  }

  /// - Throws: `invalid` if the list cannot be read, with the reason.
  func walkOptions() throws(BatchError) -> WalkOptions {
    var walk = WalkOptions()
    var rules: [PathFilter.Rule] = []
    var folder: PathBytes?
    for word in words {
      let end = word.firstIndex(of: Self.equals) ?? word.endIndex
      let value = Array(word[end...].dropFirst())
      func size() -> Int64? { DecimalDigits.value(of: value[...]).flatMap { Int64(exactly: $0) } }
      let time = FileStatus.Time(number: value[...])
      switch String(decoding: word[..<end], as: UTF8.self) {
      case "exclude": rules.append(.exclude(value))
      case "include": rules.append(.include(value))
      case "folder": folder = PathBytes(value)
      case "min-size" where size() != nil: walk.minimumSize = size()
      case "max-size" where size() != nil: walk.maximumSize = size()
      case "newer" where time != nil: walk.age.after = time
      case "older" where time != nil: walk.age.before = time
      case "ignore-files": walk.readsIgnoreFiles = true
      case "file": break
      case "caches": walk.skipsCaches = true
      default:
        throw BatchError(.invalid, "its file selection is not stored in a form that this version reads")
      }
    }
    if !rules.isEmpty { walk.filter = try PathFilter(rules: rules, workingFolder: folder ?? "") }
    return walk
  }

  // MARK: JSON

  func append(to line: inout JSONLine) {
    line.add(path: PathBytes(words.joined(separator: [0])), as: "filter")
  }

  /// - Returns: nil when the line has none.
  /// - Throws: `malformed` for a list that is not one.
  static func read(_ line: SnapshotLine) throws(BatchError) -> SnapshotFilter? {
    guard let joined = try line.name("filter") else { return nil }
    return SnapshotFilter(words: joined.split(separator: 0).map { Array($0) })
  }

  private init(words: [[UInt8]]) { self.words = words }
}
