import Testing

@testable import BatchEngine

@Suite("An access control list")
struct AccessListTests {
  private static let tags: [Character: UInt16] = ["u": 1, "U": 2, "g": 4, "G": 8, "m": 0x10, "o": 0x20]

  /// An access control list made from entries such as `U6`: a named user who may read and write.
  private func list(_ entries: String) -> [UInt8] {
    var bytes: [UInt8] = [2, 0, 0, 0]
    for entry in entries.split(separator: " ") {
      guard let tag = entry.first.flatMap({ Self.tags[$0] }), let rights = UInt8(entry.dropFirst()) else {
        continue
      }
      bytes += [UInt8(tag), 0, rights, 0, 0xE9, 3, 0, 0]
    }
    return bytes
  }

  @Test(
    "reduces the mode to the rights that it grants to all users of each class",
    arguments: [
      ("u6 U6 g0 m6 o0", 0o660, 0o600), ("u6 U6 g4 m6 o0", 0o660, 0o640), ("u6 g4 m6 o4", 0o664, 0o644),
      // A user or group that the list denies by name belongs to the class of others or of the group.
      ("u6 U0 g6 m6 o4", 0o664, 0o600), ("u6 G0 g6 m6 o4", 0o664, 0o660), ("u7 U7 g5 m1 o5", 0o715, 0o711),
      ("u6 g6 o6", 0o666, 0o666),
    ])
  func permissions(entries: String, mode: UInt32, expected: UInt32) {
    #expect(AccessList.permissions(mode, without: list(entries)) == expected)
  }

  @Test("that cannot be parsed leaves only the owner's rights; without a list the mode stays")
  func unknown() {
    for bytes in [[], [1, 0, 0, 0], [2, 0, 0, 0, 1], [3, 0, 0, 0] + [UInt8](repeating: 0, count: 8)]
      as [[UInt8]]
    {
      #expect(AccessList.permissions(0o664, without: bytes) == 0o600)
    }
    #expect(AccessList.permissions(0o100664, without: nil) == 0o664)
  }
}
