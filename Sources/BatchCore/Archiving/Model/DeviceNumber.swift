import BatchEngine

/// The two parts of a device's number, as glibc packs them; its macros do not reach Swift.
enum DeviceNumber {
  static func major(_ device: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: (device >> 8) & 0xfff | (device >> 32) & ~0xfff)
  }

  static func minor(_ device: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: device & 0xff | (device >> 12) & ~0xff)
  }
}
