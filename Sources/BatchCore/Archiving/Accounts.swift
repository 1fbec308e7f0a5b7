import Glibc

/// The users and groups that this system knows by name.
enum Accounts {
  private static let room = 16 << 10

  static func user(_ name: UnsafePointer<CChar>) -> UInt32? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: room) { buffer in
      var record = passwd()
      var found: UnsafeMutablePointer<passwd>?
      guard let base = buffer.baseAddress else { return nil }
      let result = getpwnam_r(name, &record, base, buffer.count, &found)
      return result == 0 && found != nil ? record.pw_uid : nil
    }
  }

  static func group(_ name: UnsafePointer<CChar>) -> UInt32? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: room) { buffer in
      var record = Glibc.group()
      var found: UnsafeMutablePointer<Glibc.group>?
      guard let base = buffer.baseAddress else { return nil }
      let result = getgrnam_r(name, &record, base, buffer.count, &found)
      return result == 0 && found != nil ? record.gr_gid : nil
    }
  }
}
