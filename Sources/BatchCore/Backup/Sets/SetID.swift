import BatchEngine

/// The identity of a set: 128 random bits in a small hidden file beside its snapshots, `.NAME.id`.
///
/// It is not a secret, and does not protect against a user who can write to the directory. It distinguishes a disk from another
/// one mounted in its place, and from an empty mount point.
enum SetID {
  private static let suffix = ".id"
  private static let length = 32
  /// The most bytes that are read of the file.
  static let longest: UInt64 = 4096

  static func random() -> String {
    var numbers = SystemRandomNumberGenerator()
    let digits = Array("0123456789abcdef")
    return String((0..<length).map { _ in digits[Int.random(in: digits.indices, using: &numbers)] })
  }

  static func isValid(_ text: some Collection<UInt8>) -> Bool {
    text.count == length
      && text.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
  }

  /// - Returns: nil if there is no such file, or it contains something else.
  static func read(_ path: PathBytes) -> String? {
    (try? SmallFile.readRegular(path, limit: Int(longest))).flatMap(parse)
  }

  static func parse(_ content: [UInt8]) -> String? {
    let text = content.last == UInt8(ascii: "\n") ? content.dropLast() : content[...]
    return isValid(text) ? String(decoding: text, as: UTF8.self) : nil
  }

  /// The ids of all sets in a directory; empty if the directory is missing.
  static func all(in directory: PathBytes, calls: any FileSystemCalls) -> Set<String> {
    let files = (try? calls.names(in: directory)) ?? []
    return Set(
      files.filter {
        $0.bytes.first == UInt8(ascii: ".") && $0.bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
      }
      .compactMap { read(directory.appending($0.bytes)) })
  }
}
