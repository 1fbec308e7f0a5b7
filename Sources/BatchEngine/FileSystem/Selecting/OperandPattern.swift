/// A pattern with slashes that is read as a path from the root or from the working folder, as a shell reads it.
///
/// If an operand lies on this path, the rest of the path is a pattern of gitignore(5) below that operand.
struct OperandPattern: Sendable {
  private static let slash = UInt8(ascii: "/")
  private static let star = UInt8(ascii: "*")

  /// Where the path begins.
  private enum Start: Sendable {
    case root
    /// This many folders above the working folder.
    case above(Int)
  }

  private let start: Start
  private let names: [[UInt8]]
  private let prefix: [UInt8]
  private let suffix: [UInt8]

  /// - Parameter text: the pattern, without comments and trailing spaces. The result is nil for a pattern that is matched
  ///   against names only.
  init?(_ text: some Collection<UInt8>) {
    var text = Array(text)
    prefix = text.first == UInt8(ascii: "!") ? [text.removeFirst()] : []
    suffix = text.last == Self.slash ? [text.removeLast()] : []
    guard text.contains(Self.slash) else { return nil }
    var names = text.split(separator: Self.slash).map(Array.init).filter { $0 != [UInt8(ascii: ".")] }
    if text.first == Self.slash {
      start = .root
    } else {
      let count = names.prefix { $0 == Array("..".utf8) }.count
      names.removeFirst(count)
      start = .above(count)
    }
    self.names = names
  }

  /// The patterns for what is below an operand.
  ///
  /// - Parameters:
  ///   - operand: the names of its path from the root.
  ///   - working: the names of the working folder's path.
  func patterns(below operand: [ArraySlice<UInt8>], in working: [ArraySlice<UInt8>]) -> [IgnorePattern] {
    var rest = operand[...]
    if case .above(let count) = start {
      guard count <= working.count, operand.starts(with: working.dropLast(count)) else { return [] }
      rest = operand.dropFirst(working.count - count)
    }
    // The indices of the pattern's names that may match next; `**` matches any number of folders.
    var next = expanded([0])
    for name in rest {
      var behind: Set<Int> = []
      for index in next where index < names.count {
        if isTree(index) {
          behind.insert(index)
        } else if matches(name, index) {
          behind.insert(index + 1)
        }
      }
      next = expanded(behind)
      if next.isEmpty { return [] }
    }
    return next.sorted().compactMap { index in
      guard index < names.count else { return nil }
      return IgnorePattern(prefix + [Self.slash] + names[index...].joined(separator: [Self.slash]) + suffix)
    }
  }

  private func isTree(_ index: Int) -> Bool { names[index] == [Self.star, Self.star] }

  private func expanded(_ indices: Set<Int>) -> Set<Int> {
    var all = indices
    for var index in indices {
      while index < names.count, isTree(index) {
        index += 1
        all.insert(index)
      }
    }
    return all
  }

  private func matches(_ name: ArraySlice<UInt8>, _ index: Int) -> Bool {
    let name = Array(name)
    return IgnorePatternGlob(names[index][...])?.matches(name.span, from: 0) ?? false
  }

  /// The names of a path from the root; `.` and `..` are applied.
  static func names(of path: PathBytes) -> [ArraySlice<UInt8>] {
    var names: [ArraySlice<UInt8>] = []
    for name in WorkingFolder.absolute(path).bytes.split(separator: slash) {
      if name.elementsEqual("..".utf8) {
        _ = names.popLast()
      } else if !name.elementsEqual(".".utf8) {
        names.append(name)
      }
    }
    return names
  }
}
