import Glibc

/// The users and groups of this system. Only this type calls getpwnam(3), getgrnam(3) and related functions.
package enum Accounts {
  /// Buffer sizes in bytes. The record of a group contains the names of all its members.
  private static let capacities = [1 << 12, 1 << 16, 1 << 20, 1 << 24]

  /// The groups that this process may give to its files: its effective one and the supplementary ones.
  package static var ownGroups: Set<UInt32> {
    var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
    let count = getgroups(Int32(clamping: groups.count), &groups)
    return Set(groups.prefix(max(0, Int(count)))).union([getegid()])
  }

  package static var ownUser: UInt32 { geteuid() }

  package static func user(_ name: UnsafePointer<CChar>) -> UInt32? {
    lookUp(passwd(), { getpwnam_r(name, $0, $1, $2, $3) }, value: { $0.pw_uid })
  }

  package static func group(_ name: UnsafePointer<CChar>) -> UInt32? {
    lookUp(Glibc.group(), { getgrnam_r(name, $0, $1, $2, $3) }, value: { $0.gr_gid })
  }

  package static func name(ofUser id: UInt32) -> [UInt8]? {
    lookUp(passwd(), { getpwuid_r(id, $0, $1, $2, $3) }, value: { bytes($0.pw_name) })
  }

  package static func name(ofGroup id: UInt32) -> [UInt8]? {
    lookUp(Glibc.group(), { getgrgid_r(id, $0, $1, $2, $3) }, value: { bytes($0.gr_name) })
  }

  /// Retries with a larger buffer while the record does not fit.
  ///
  /// - Parameters:
  ///   - empty: receives the record.
  ///   - call: gets the record, the buffer for its text, and where to store the address of a record that was found.
  private static func lookUp<Record, Value>(
    _ empty: Record,
    _ call: (
      UnsafeMutablePointer<Record>, UnsafeMutablePointer<CChar>, Int,
      UnsafeMutablePointer<UnsafeMutablePointer<Record>?>
    ) -> Int32,
    value: (Record) -> Value?
  ) -> Value? {
    for capacity in capacities {
      var record = empty
      var found: UnsafeMutablePointer<Record>?
      let (result, value) = withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) {
        guard let text = $0.baseAddress else { return (ENOMEM, nil as Value?) }
        let result = call(&record, text, capacity, &found)
        return (result, found == nil ? nil : value(record))
      }
      if result != ERANGE { return value }
    }
    return nil
  }

  private static func bytes(_ name: UnsafeMutablePointer<CChar>?) -> [UInt8]? {
    name.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
  }
}
