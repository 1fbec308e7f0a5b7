import Glibc

/// The users and groups of this system. Only this type calls getpwnam(3), getgrnam(3) and related functions.
package enum Accounts {
  /// Buffer sizes in bytes. The record of a group contains the names of all its members.
  private static let capacities = [1 << 12, 1 << 16, 1 << 20, 1 << 24]

  /// The id of a user; nil if the name is unknown.
  package static func user(_ name: UnsafePointer<CChar>) -> UInt32? {
    lookUp { room, capacity in
      var record = passwd()
      var found: UnsafeMutablePointer<passwd>?
      let result = getpwnam_r(name, &record, room, capacity, &found)
      return (result, found == nil ? nil : record.pw_uid)
    }
  }

  /// The id of a group; nil if the name is unknown.
  package static func group(_ name: UnsafePointer<CChar>) -> UInt32? {
    lookUp { room, capacity in
      var record = Glibc.group()
      var found: UnsafeMutablePointer<Glibc.group>?
      let result = getgrnam_r(name, &record, room, capacity, &found)
      return (result, found == nil ? nil : record.gr_gid)
    }
  }

  /// The name of a user; nil if the id has none.
  package static func name(ofUser id: UInt32) -> [UInt8]? {
    lookUp { room, capacity in
      var record = passwd()
      var found: UnsafeMutablePointer<passwd>?
      let result = getpwuid_r(id, &record, room, capacity, &found)
      return (result, found == nil ? nil : bytes(record.pw_name))
    }
  }

  /// The name of a group; nil if the id has none.
  package static func name(ofGroup id: UInt32) -> [UInt8]? {
    lookUp { room, capacity in
      var record = Glibc.group()
      var found: UnsafeMutablePointer<Glibc.group>?
      let result = getgrgid_r(id, &record, room, capacity, &found)
      return (result, found == nil ? nil : bytes(record.gr_name))
    }
  }

  /// Retries with a larger buffer while the record does not fit.
  private static func lookUp<Value>(_ call: (UnsafeMutablePointer<CChar>, Int) -> (Int32, Value?)) -> Value? {
    for capacity in capacities {
      let (result, value) = withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) {
        $0.baseAddress.map { call($0, capacity) } ?? (ENOMEM, nil)
      }
      if result != ERANGE { return value }
    }
    return nil
  }

  private static func bytes(_ name: UnsafeMutablePointer<CChar>?) -> [UInt8]? {
    name.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
  }
}
