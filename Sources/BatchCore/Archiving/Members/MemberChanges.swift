import BatchEngine

/// Metadata that replaces that of the files.
package struct MemberChanges: Sendable, Hashable {
  package var owner: OwnerChange?
  package var group: OwnerChange?
  package var mode: ModeChange?
  package var names: [NameTransform] = []

  package init() {}

  /// Applies all changes except those of names.
  func apply(to entry: inout ArchiveEntry) {
    if let owner {
      entry.owner = owner.id
      entry.ownerName = owner.name
    }
    if let group {
      entry.group = group.id
      entry.groupName = group.name
    }
    if let mode, entry.kind != .symbolicLink {
      entry.mode = mode.applied(to: entry.mode, isFolder: entry.kind == .directory)
    }
  }
}

/// One user or group for all members, as `--owner` and `--group` of GNU tar: a name, a number, or `NAME:NUMBER`.
package struct OwnerChange: Sendable, Hashable {
  package let id: UInt32
  /// Empty for none.
  package let name: [UInt8]

  /// - Throws: `invalid` for a name that this system does not know, and for a number that no user can have.
  package init(_ text: PathBytes, isGroup: Bool) throws(BatchError) {
    let parts = text.bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    let what = isGroup ? "group" : "user"
    if parts.count == 2 {
      guard let id = Self.number(parts[1]) else {
        throw BatchError(.invalid, "the number behind ':' is not one of a \(what)")
      }
      self.id = id
      name = Array(parts[0])
      return
    }
    let digits = text.bytes.first == UInt8(ascii: "+") ? text.bytes.dropFirst() : text.bytes[...]
    if let id = Self.number(digits) {
      self.id = id
      name = (isGroup ? Accounts.name(ofGroup: id) : Accounts.name(ofUser: id)) ?? []
      return
    }
    guard let id = text.withCString({ isGroup ? Accounts.group($0) : Accounts.user($0) }) else {
      throw BatchError(.invalid, "there is no \(what) of this name here; NAME:NUMBER gives both")
    }
    self.id = id
    name = text.bytes
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt32? {
    guard !digits.isEmpty, digits.count <= 10, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    let number = digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - 0x30) }
    // The largest number means "no change" in chown(2).
    return number < UInt64(UInt32.max) ? UInt32(number) : nil
  }
}

/// A change of permissions as in chmod(1): an octal number, or `u+rwX,go-w`.
package struct ModeChange: Sendable, Hashable {
  private struct Step: Sendable, Hashable {
    /// The bits that may change: those of user, group and others, with setuid, setgid and the sticky bit.
    let mask: UInt32
    let operation: UInt8
    let bits: UInt32
    /// `X`: execute permission for folders, and for files that have some.
    let executesSome: Bool
    /// The shift of the class whose bits are copied: `g=u`.
    let copied: UInt32?
    /// Whether `=` clears setuid and setgid of folders too: with an octal number of five digits.
    var clearsFolders = false
  }

  private let steps: [Step]

  /// - Parameter umask: bits that a change without `u`, `g`, `o` or `a` does not affect.
  /// - Throws: `invalid` for what chmod(1) refuses.
  package init(_ text: PathBytes, umask: UInt32) throws(BatchError) {
    if let first = text.bytes.first, (0x30...0x39).contains(first) {
      guard text.bytes.count <= 5, text.bytes.allSatisfy({ (0x30...0x37).contains($0) }) else {
        throw Self.error
      }
      let number = text.bytes.reduce(UInt32(0)) { $0 * 8 + UInt32($1 - 0x30) }
      guard number <= 0o7777 else { throw Self.error }
      steps = [
        Step(
          mask: 0o7777, operation: UInt8(ascii: "="), bits: number, executesSome: false,
          copied: nil, clearsFolders: text.bytes.count == 5)
      ]
      return
    }
    var steps: [Step] = []
    for clause in text.bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      steps += try Self.steps(of: clause, umask: umask)
    }
    self.steps = steps
  }

  /// - Parameter mode: the 12 permission bits; so is the result.
  package func applied(to mode: UInt32, isFolder: Bool) -> UInt32 {
    steps.reduce(mode & 0o7777) { mode, step in
      var bits = step.bits
      if step.executesSome, isFolder || mode & 0o111 != 0 { bits |= 0o111 }
      if let shift = step.copied { bits = (mode >> shift & 0o7) * 0o111 }
      bits &= step.mask
      return switch step.operation {
      case UInt8(ascii: "+"): mode | bits
      case UInt8(ascii: "-"): mode & ~bits
      // The bits of a class are replaced; setuid and setgid of folders stay, as with chmod(1).
      default: mode & ~(isFolder && !step.clearsFolders ? step.mask & 0o1777 : step.mask) | bits
      }
    }
  }

  private static func steps(of clause: ArraySlice<UInt8>, umask: UInt32) throws(BatchError) -> [Step] {
    var rest = clause
    var mask: UInt32 = 0
    while let letter = rest.first, let bits = classes[letter] {
      mask |= bits
      rest = rest.dropFirst()
    }
    if mask == 0 { mask = 0o7777 & ~umask }
    var steps: [Step] = []
    while let operation = rest.popFirst() {
      guard "+-=".utf8.contains(operation) else { throw error }
      if let letter = rest.first, let shift = copies[letter] {
        rest = rest.dropFirst()
        steps.append(Step(mask: mask, operation: operation, bits: 0, executesSome: false, copied: shift))
        continue
      }
      var bits: UInt32 = 0
      var executesSome = false
      while let letter = rest.first, !"+-=".utf8.contains(letter) {
        rest = rest.dropFirst()
        if letter == UInt8(ascii: "X") {
          executesSome = true
        } else if let more = permissions[letter] {
          bits |= more
        } else {
          throw error
        }
      }
      steps.append(
        Step(mask: mask, operation: operation, bits: bits, executesSome: executesSome, copied: nil))
    }
    guard !steps.isEmpty else { throw error }
    return steps
  }

  private static let classes: [UInt8: UInt32] = [
    UInt8(ascii: "u"): 0o4700, UInt8(ascii: "g"): 0o2070, UInt8(ascii: "o"): 0o1007,
    UInt8(ascii: "a"): 0o7777,
  ]
  private static let copies: [UInt8: UInt32] = [
    UInt8(ascii: "u"): 6, UInt8(ascii: "g"): 3, UInt8(ascii: "o"): 0,
  ]
  private static let permissions: [UInt8: UInt32] = [
    UInt8(ascii: "r"): 0o444, UInt8(ascii: "w"): 0o222, UInt8(ascii: "x"): 0o111, UInt8(ascii: "s"): 0o6000,
    UInt8(ascii: "t"): 0o1000,
  ]
  private static let error = BatchError(.invalid, "not a mode of chmod, such as 644 or u+rwX,go-w")
}
