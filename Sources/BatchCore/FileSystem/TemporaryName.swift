/// The name of a file that is still being written: `.batchproc-<boot>-<random>.tmp`.
///
/// 128 random bits make it one that nobody can plant a link under. It has the same 56 bytes whatever
/// the target is called, so targets may have names as long as the file system takes. The boot tells
/// the next runs whether it was made since this kernel started.
struct TemporaryName: Hashable, Sendable {
  private static let prefix = Array(".batchproc-".utf8)
  private static let suffix = Array(".tmp".utf8)
  private static let digits = Array("0123456789abcdef".utf8)

  let bytes: [UInt8]
  /// The start of the kernel's boot id, 0 where it was not known.
  let boot: UInt32

  /// A name that was never used before.
  init(boot: UInt32 = Self.currentBoot) {
    // The system's generator reads getrandom(2).
    var random = SystemRandomNumberGenerator()
    let body = [
      Self.hexadecimal(boot), [UInt8(ascii: "-")], Self.hexadecimal(random.next()),
      Self.hexadecimal(random.next()),
    ]
    bytes = Self.prefix + body.joined() + Self.suffix
    self.boot = boot
  }

  /// Recognises a name that ``init(boot:)`` made; nil for every other one.
  init?(_ name: some Collection<UInt8>) {
    // Most names are others, and need no array of their own.
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

  /// The first 32 bits of this boot's id, 0 where the kernel does not tell it.
  static let currentBoot: UInt32 = {
    guard let id = try? SmallFile.read("/proc/sys/kernel/random/boot_id") else { return 0 }
    return UInt32(String(decoding: id.prefix(8), as: UTF8.self), radix: 16) ?? 0
  }()

  private static func hexadecimal<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    stride(from: Number.bitWidth - 4, through: 0, by: -4).map {
      digits[Int(truncatingIfNeeded: number >> $0) & 15]
    }
  }
}
