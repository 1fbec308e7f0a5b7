/// The number of a character or block device, in its two parts.
package struct DeviceNumber: Sendable, Hashable {
  package let major: UInt32
  package let minor: UInt32

  package init(major: UInt32, minor: UInt32) {
    self.major = major
    self.minor = minor
  }

  /// Splits ``FileStatus/device`` as glibc does, whose macros are not available in Swift.
  package init(_ device: UInt64) {
    major = UInt32(truncatingIfNeeded: (device >> 8) & 0xfff | (device >> 32) & ~0xfff)
    minor = UInt32(truncatingIfNeeded: device & 0xff | (device >> 12) & ~0xff)
  }
}
