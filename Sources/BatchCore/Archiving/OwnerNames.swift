import Glibc
import Synchronization

/// The names of users and groups, each looked up once.
final class OwnerNames: Sendable {
  private let users = Mutex<[UInt32: [UInt8]]>([:])
  private let groups = Mutex<[UInt32: [UInt8]]>([:])

  /// Empty when the user has no name.
  func user(_ id: UInt32) -> [UInt8] {
    users.withLock { known in
      if let name = known[id] { return name }
      let name = Self.lookUp { buffer, size in
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        let result = getpwuid_r(id, &entry, buffer, size, &found)
        return (result, found == nil ? nil : entry.pw_name)
      }
      known[id] = name
      return name
    }
  }

  /// Empty when the group has no name.
  func group(_ id: UInt32) -> [UInt8] {
    groups.withLock { known in
      if let name = known[id] { return name }
      let name = Self.lookUp { buffer, size in
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        let result = getgrgid_r(id, &entry, buffer, size, &found)
        return (result, found == nil ? nil : entry.gr_name)
      }
      known[id] = name
      return name
    }
  }

  private static func lookUp(
    _ call: (UnsafeMutablePointer<CChar>, Int) -> (Int32, UnsafeMutablePointer<CChar>?)
  ) -> [UInt8] {
    // Groups of very many members need more room than they are told at first.
    for size in [1 << 12, 1 << 16, 1 << 20] {
      let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { room -> [UInt8]? in
        guard let base = room.baseAddress else { return [] }
        let (result, name) = call(base, size)
        if result == ERANGE { return nil }
        return name.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
      }
      if let name { return name }
    }
    return []
  }
}
