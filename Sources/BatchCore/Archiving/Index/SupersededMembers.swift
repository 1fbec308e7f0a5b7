import BatchEngine

/// Finds the members of an archive that a later member of the same name supersedes.
///
/// A 64-bit hash of each name is kept while the archive is read, and its number too if the archive can be read only once.
package struct SupersededMembers {
  /// The mark of a member in a list or a verification.
  package enum Mark: Sendable {
    case none
    /// A later member has its name; then this one is not compared with a folder.
    case superseded
    /// An earlier member has its name; used if that one was reported before this one was known.
    case supersedes
  }

  /// The numbers of superseded members; nil if they become known only while the archive is read.
  private var superseded: Set<Int>?
  private var last: [Int: UInt32] = [:]
  private var number = 0
  private(set) var count = 0

  /// For an archive that is read once.
  init() {}

  /// - Parameter superseded: the numbers of the members that a later one supersedes.
  init(_ superseded: Set<Int>) {
    self.superseded = superseded
    count = superseded.count
  }

  init(_ index: MemberIndex, _ cancellation: Cancellation) throws(BatchError) {
    var names = RepeatedNames(upTo: index.count)
    try index.forEachMember(cancellation) { names.add(Self.place(of: $1.path)) }
    let repeated = names.takeAll()
    var found: Set<Int> = []
    if !repeated.isEmpty {
      var last: [Int: Int] = [:]
      try index.forEachMember(cancellation) { number, member in
        let hash = Self.place(of: member.path).hashValue
        guard repeated.contains(hash), let earlier = last.updateValue(number, forKey: hash) else { return }
        found.insert(earlier)
      }
    }
    superseded = found
    count = found.count
  }

  /// Takes the next member.
  mutating func mark(_ path: PathBytes) -> Mark {
    guard let superseded else {
      guard add(path) != nil else { return .none }
      count += 1
      return .supersedes
    }
    defer { number += 1 }
    return superseded.contains(number) ? .superseded : .none
  }

  /// Counts a member that cannot be read.
  mutating func skip() { number += 1 }

  func mark(of number: Int) -> Mark { superseded?.contains(number) == true ? .superseded : .none }

  /// One sentence about all superseded members; nil when no member is superseded.
  var fact: String? {
    switch count {
    case 0: nil
    case 1: "1 member is superseded by a later one of its name"
    default: "\(count) members are superseded by later ones of their names"
    }
  }

  /// - Returns: the number of an earlier member with the name.
  mutating func add(_ path: PathBytes) -> Int? {
    defer { number += 1 }
    return last.updateValue(
      UInt32(truncatingIfNeeded: number), forKey: Self.place(of: path).hashValue
    ).map { Int($0) }
  }

  private static func place(of path: PathBytes) -> [UInt8] { (try? RelativePath(path))?.bytes ?? path.bytes }
}
