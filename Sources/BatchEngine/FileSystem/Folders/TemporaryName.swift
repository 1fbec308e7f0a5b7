import Glibc
import Synchronization

/// The name of a file that is still being written: `.batchproc-<boot>-<random>.tmp`.
///
/// Its 128 random bits cannot be guessed, so no user can plant a link under it. It always has 56 bytes, so targets may have
/// names as long as the file system allows. From the boot id later runs see whether it was created since this kernel started.
package struct TemporaryName: Hashable, Sendable {
  private static let prefix = Array(".batchproc-".utf8)
  private static let suffix = Array(".tmp".utf8)
  private static let digits = Array("0123456789abcdef".utf8)

  package let bytes: [UInt8]
  /// The start of the kernel's boot id, 0 if unknown.
  package let boot: UInt32

  /// A part of the random bits is enough for a hash.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(bytes.dropFirst(24).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  /// A name that was never used before.
  package init(boot: UInt32 = Self.currentBoot) {
    let random = Self.randomNumbers()
    var bytes = Self.prefix
    bytes.reserveCapacity(56)
    Self.append(boot, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    Self.append(random.0, to: &bytes)
    Self.append(random.1, to: &bytes)
    self.bytes = bytes + Self.suffix
    self.boot = boot
  }

  /// Recognizes a name that ``init(boot:)`` made; nil for every other name.
  package init?(_ name: some Collection<UInt8>) {
    // Most names are not temporary, so no array is allocated for them.
    guard name.first == Self.prefix.first else { return nil }
    let bytes = Array(name)
    let body = bytes.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)
    guard bytes.starts(with: Self.prefix), bytes.suffix(Self.suffix.count).elementsEqual(Self.suffix),
      body.count == 41
    else { return nil }
    let parts = body.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 8,
      body.allSatisfy({ $0 == UInt8(ascii: "-") || Self.digits.contains($0) }),
      let boot = UInt32(String(decoding: parts[0], as: UTF8.self), radix: 16)
    else { return nil }
    self.bytes = bytes
    self.boot = boot
  }

  /// The first 32 bits of this boot's id, 0 if the kernel does not report it.
  package static let currentBoot: UInt32 = {
    guard let id = try? KernelFile.read("/proc/sys/kernel/random/boot_id") else { return 0 }
    return UInt32(String(decoding: id.prefix(8), as: UTF8.self), radix: 16) ?? 0
  }()

  /// Random numbers of the kernel that are not used yet.
  private static let unused = Mutex<[UInt64]>([])

  /// Two random numbers; they are requested from the kernel for sixteen names at once.
  private static func randomNumbers() -> (UInt64, UInt64) {
    unused.withLock { unused in
      if unused.count < 2 {
        unused = [UInt64](repeating: 0, count: 32)
        let failed = unused.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
        if failed != 0 {
          var random = SystemRandomNumberGenerator()
          unused = unused.map { _ in random.next() }
        }
      }
      return (unused.removeLast(), unused.removeLast())
    }
  }

  private static func append<Number: FixedWidthInteger>(_ number: Number, to bytes: inout [UInt8]) {
    for shift in stride(from: Number.bitWidth - 4, through: 0, by: -4) {
      bytes.append(digits[Int(truncatingIfNeeded: number >> shift) & 15])
    }
  }
}
