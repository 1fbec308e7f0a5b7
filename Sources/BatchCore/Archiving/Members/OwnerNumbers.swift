import BatchEngine
import Synchronization

/// The numbers of owner names on this system, each looked up once.
final class OwnerNumbers: Sendable {
  private let users = Mutex<[[UInt8]: UInt32?]>([:])
  private let groups = Mutex<[[UInt8]: UInt32?]>([:])

  /// User and group for `chown(2)`: by name where the name is known here, else by number.
  ///
  /// - Returns: nil if one of them is an impossible number; `chown(2)` would treat it as "no change".
  func owner(of entry: ArchiveEntry, numeric: Bool) -> (user: UInt32, group: UInt32)? {
    var user = entry.owner
    var group = entry.group
    if !numeric {
      user = Self.number(of: entry.ownerName, in: users, Accounts.user) ?? user
      group = Self.number(of: entry.groupName, in: groups, Accounts.group) ?? group
    }
    return user == .max || group == .max ? nil : (user, group)
  }

  private static func number(
    of name: [UInt8], in known: borrowing Mutex<[[UInt8]: UInt32?]>, _ find: (UnsafePointer<CChar>) -> UInt32?
  ) -> UInt32? {
    guard !name.isEmpty, !name.contains(0) else { return nil }
    return known.withLock { known in
      if let number = known[name] { return number }
      let number = PathBytes(name).withCString { find($0) }
      // Limited, because an archive with endless names could fill the memory.
      if known.count < 4096 { known[name] = .some(number) }
      return number
    }
  }
}
