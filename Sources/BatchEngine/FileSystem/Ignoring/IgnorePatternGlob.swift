/// A compiled glob of gitignore(5), matched by bytes.
///
/// Time is bounded by the product of the lengths of glob and text, for each folder that `**` may match: after a mismatch,
/// matching resumes at the last `*` of the same name or at the last `**`, never earlier. That is enough: the part after an
/// earlier `*` of a name, or an earlier `**`, was matched as far left as possible, so another attempt there would only leave
/// less text for the rest.
struct IgnorePatternGlob: Sendable {
  /// One step of the glob. Only ``Step/folders``, ``Step/rest`` and a literal slash match a slash.
  package enum Step: Sendable {
    case byte(UInt8)
    /// `?`
    case any
    /// A bracket expression, as an index into `sets`.
    case set(Int)
    /// `*`: any bytes of one name, or any bytes where wildcards match slashes.
    case star
    /// `**/`: zero or more folders.
    case folders
    /// `**` at the end: the rest of the path.
    case rest
  }

  package private(set) var steps: [Step] = []
  /// Whether `*` and `?` match slashes too.
  private let crossesFolders: Bool
  private var sets: [IgnorePatternByteSet] = []

  private static let slash = UInt8(ascii: "/")
  private static let backslash = UInt8(ascii: "\\")
  private static let asterisk = UInt8(ascii: "*")

  /// Compiles a glob; nil when it can never match: a bracket that is not closed, an unknown class, a
  /// backslash at the end.
  init?(_ glob: ArraySlice<UInt8>, crossesFolders: Bool = false) {
    self.crossesFolders = crossesFolders
    var index = glob.startIndex
    while index < glob.endIndex {
      let byte = glob[index]
      switch byte {
      case Self.asterisk:
        index = appendStars(of: glob, at: index)
      case UInt8(ascii: "?"):
        steps.append(.any)
        index += 1
      case UInt8(ascii: "["):
        guard let next = appendSet(of: glob, at: index) else { return nil }
        index = next
      case Self.backslash:
        guard index + 1 < glob.endIndex else { return nil }
        steps.append(.byte(glob[index + 1]))
        index += 2
      default:
        steps.append(.byte(byte))
        index += 1
      }
    }
  }

  /// Whether the whole text from `start` on matches.
  package func matches(_ text: Span<UInt8>, from start: Int) -> Bool {
    let end = text.count
    var step = 0
    var position = start
    var star: (step: Int, position: Int)?
    var tree: (step: Int, position: Int)?
    while true {
      if step == steps.count {
        if position == end { return true }
      } else {
        switch steps[step] {
        case .rest:
          return true
        case .star:
          star = (step, position)
          step += 1
          continue
        case .folders:
          tree = (step, position)
          star = nil
          step += 1
          continue
        case .byte(let byte):
          if position < end, text[position] == byte {
            if byte == Self.slash, !crossesFolders { star = nil }
            step += 1
            position += 1
            continue
          }
        case .any:
          if position < end, crossesFolders || text[position] != Self.slash {
            step += 1
            position += 1
            continue
          }
        case .set(let index):
          if position < end, sets[index].contains(text[position]) {
            step += 1
            position += 1
            continue
          }
        }
      }
      if let last = star, last.position < end, crossesFolders || text[last.position] != Self.slash {
        position = last.position + 1
        step = last.step + 1
        star = (last.step, position)
      } else if let last = tree, let next = Self.nextFolder(in: text, from: last.position) {
        position = next
        step = last.step + 1
        tree = (last.step, position)
        star = nil
      } else {
        return false
      }
    }
  }

  private static func nextFolder(in text: Span<UInt8>, from start: Int) -> Int? {
    var index = start
    while index < text.count {
      if text[index] == slash { return index + 1 }
      index += 1
    }
    return nil
  }

  /// Reads consecutive asterisks: `**` is special only as a whole name, otherwise it is a plain `*`.
  private mutating func appendStars(of glob: ArraySlice<UInt8>, at start: Int) -> Int {
    var end = start
    while end < glob.endIndex, glob[end] == Self.asterisk { end += 1 }
    let opensName = start == glob.startIndex || glob[start - 1] == Self.slash
    if end - start >= 2, opensName {
      if end == glob.endIndex {
        steps.append(.rest)
        return end
      }
      if glob[end] == Self.slash {
        steps.append(.folders)
        return end + 1
      }
      // An escaped slash ends the name too, but then git requires at least one folder.
      if glob[end] == Self.backslash, end + 1 < glob.endIndex, glob[end + 1] == Self.slash {
        steps += [.star, .byte(Self.slash), .folders]
        return end + 2
      }
    }
    steps.append(.star)
    return end
  }

  /// Reads a bracket expression; nil when it is malformed.
  private mutating func appendSet(of glob: ArraySlice<UInt8>, at start: Int) -> Int? {
    var set = IgnorePatternByteSet()
    var index = start + 1
    func byte(at place: Int) -> UInt8? { place < glob.endIndex ? glob[place] : nil }

    let isInverted = byte(at: index) == UInt8(ascii: "!") || byte(at: index) == UInt8(ascii: "^")
    if isInverted { index += 1 }
    // The start of a range if `-` follows; nil after a range or a class.
    var previous: UInt8?
    var isFirst = true
    while let current = byte(at: index), isFirst || current != UInt8(ascii: "]") {
      isFirst = false
      if current == UInt8(ascii: "["), byte(at: index + 1) == UInt8(ascii: ":") {
        guard let bracket = glob[(index + 2)...].firstIndex(of: UInt8(ascii: "]")) else { return nil }
        if bracket > index + 2, glob[bracket - 1] == UInt8(ascii: ":") {
          guard set.insertClass(glob[(index + 2)..<(bracket - 1)]) else { return nil }
          previous = nil
          index = bracket + 1
          continue
        }
      }
      if current == UInt8(ascii: "-"), let first = previous,
        var last = byte(at: index + 1), last != UInt8(ascii: "]")
      {
        index += 2
        if last == Self.backslash {
          guard let escaped = byte(at: index) else { return nil }
          last = escaped
          index += 1
        }
        set.insert(from: first, through: last)
        previous = nil
        continue
      }
      var member = current
      if current == Self.backslash {
        guard let escaped = byte(at: index + 1) else { return nil }
        member = escaped
        index += 1
      }
      set.insert(member)
      previous = member
      index += 1
    }
    guard index < glob.endIndex else { return nil }
    if isInverted { set.invert() }
    set.remove(Self.slash)
    steps.append(.set(sets.count))
    sets.append(set)
    return index + 1
  }
}
