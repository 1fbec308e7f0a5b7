import BatchEngine

/// Text as one word of a shell.
///
/// It is made from bytes: a `Character` can be a quote together with an accent behind it, which the shell still takes as a quote.
enum ShellWord {
  private static let quote = UInt8(ascii: "'")

  static func quoted(_ path: PathBytes) -> String { String(decoding: bytes(path), as: UTF8.self) }

  /// The word byte for byte, also for a name that is not UTF-8.
  static func bytes(_ path: PathBytes) -> [UInt8] {
    guard !path.bytes.allSatisfy(isPlain) || path.isEmpty else { return path.bytes }
    return [quote] + path.bytes.flatMap { $0 == quote ? Array(#"'\''"#.utf8) : [$0] } + [quote]
  }

  /// Whether a byte has no special meaning for a shell or systemd.
  static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "/._-+@:,=%".utf8.contains(byte)
    }
  }
}
