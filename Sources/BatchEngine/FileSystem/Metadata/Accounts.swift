import Glibc

/// The users and groups of this system: the one place that asks getpwnam(3), getgrnam(3) and their kin.
package enum Accounts {
  /// In bytes. The record of a group holds the names of all its members.
  private static let capacities = [1 << 12, 1 << 16, 1 << 20, 1 << 24]

  /// The number of a user; nil when there is none of this name.
  package static func user(_ name: UnsafePointer<CChar>) -> UInt32? {
    lookUp { room, capacity in
      var record = passwd()
      var found: UnsafeMutablePointer<passwd>?
      let result = getpwnam_r(name, &record, room, capacity, &found)
      return (result, found == nil ? nil : record.pw_uid)
    }
  }

  /// The number of a group; nil when there is none of this name.
  package static func group(_ name: UnsafePointer<CChar>) -> UInt32? {
    lookUp { room, capacity in
      var record = Glibc.group()
      var found: UnsafeMutablePointer<Glibc.group>?
      let result = getgrnam_r(name, &record, room, capacity, &found)
      return (result, found == nil ? nil : record.gr_gid)
    }
  }

  /// The name of a user; nil when the number has none.
  package static func name(ofUser id: UInt32) -> [UInt8]? {
    lookUp { room, capacity in
      var record = passwd()
      var found: UnsafeMutablePointer<passwd>?
      let result = getpwuid_r(id, &record, room, capacity, &found)
      return (result, found == nil ? nil : bytes(record.pw_name))
    }
  }

  /// The name of a group; nil when the number has none.
  package static func name(ofGroup id: UInt32) -> [UInt8]? {
    lookUp { room, capacity in
      var record = Glibc.group()
      var found: UnsafeMutablePointer<Glibc.group>?
      let result = getgrgid_r(id, &record, room, capacity, &found)
      return (result, found == nil ? nil : bytes(record.gr_name))
    }
  }

  /// Asks again with more room as long as the record does not fit.
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
