import BatchEngine

/// The saved best numbers of operations, by the identity of a file system (`tune --save`).
///
/// A text file, one device on each line: 16 hexadecimal digits, a blank, the number. Other lines are ignored.
package struct SavedDevices: Sendable, Hashable {
  private static let header =
    "# Operations at once by file system, the fastest that batchproc tune measured.\n"
  private static let most = 4096

  package private(set) var numbers: [String: Int] = [:]

  /// The path of the file; nil if no directory for it is known.
  package static func path(
    isRoot: Bool = StandardStreams.isRoot, environment: (String) -> PathBytes?
  ) -> PathBytes? {
    StateFile.path("devices", isRoot: isRoot, environment: environment)
  }

  package init() {}

  package init(_ content: [UInt8]) {
    for line in content.split(separator: UInt8(ascii: "\n")) {
      let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
      guard words.count == 2, words[0].utf8.count == 16, words[0].allSatisfy(\.isHexDigit),
        let number = Int(words[1]), (1...Self.most).contains(number)
      else { continue }
      numbers[words[0]] = number
    }
  }

  /// Reads the file. A missing file, and one that another user could have written, count as empty.
  package init(readingAt path: PathBytes?) {
    self.init()
    guard let path, let content = try? StateFile.read(path) else { return }
    self = SavedDevices(content)
  }

  package subscript(fileSystem: String) -> Int? {
    get { numbers[fileSystem] }
    set { numbers[fileSystem] = newValue }
  }

  package var content: [UInt8] {
    Array(Self.header.utf8)
      + numbers.sorted { $0.key < $1.key }.flatMap { Array("\($0.key) \($0.value)\n".utf8) }
  }
}
