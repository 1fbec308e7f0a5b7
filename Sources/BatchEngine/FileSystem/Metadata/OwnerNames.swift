/// A cache of the names of users and groups, for one worker.
package final class OwnerNames {
  private var users: [UInt32: [UInt8]] = [:]
  private var groups: [UInt32: [UInt8]] = [:]

  package init() {}

  /// The name of a user; empty if it has none.
  package func user(_ id: UInt32) -> [UInt8] { Self.name(of: id, in: &users, Accounts.name(ofUser:)) }

  /// The name of a group; empty if it has none.
  package func group(_ id: UInt32) -> [UInt8] { Self.name(of: id, in: &groups, Accounts.name(ofGroup:)) }

  private static func name(
    of id: UInt32, in known: inout [UInt32: [UInt8]], _ find: (UInt32) -> [UInt8]?
  ) -> [UInt8] {
    if let name = known[id] { return name }
    let name = find(id) ?? []
    known[id] = name
    return name
  }
}
