import BatchEngine
import Testing

@testable import BatchCore

@Suite("The answers of a process that reads an archive") struct ReaderMessageTests {
  private static var entry: ArchiveEntry {
    var entry = ArchiveEntry(
      path: PathBytes([0x61, 0xff, 0x2f]), kind: .file, size: 1 << 40, mode: 0o4755, owner: .max, group: 7,
      ownerName: Array("root".utf8), groupName: [0xfe],
      modified: FileStatus.Time(seconds: -5, nanoseconds: 999_999_999), deviceMajor: 8, deviceMinor: 1,
      attributes: [ExtendedAttribute(name: Array("user.a".utf8), value: [0, 1])],
      dataMap: [0..<4096, 8192..<8193])
    entry.hasTime = false
    entry.hasSize = false
    entry.hasMode = false
    entry.sharesContent = true
    entry.isKnownEmpty = true
    return entry
  }

  private static var messages: [ReaderMessage] {
    let link = ArchiveEntry(path: "l", kind: .symbolicLink, linkTarget: "")
    let errors = [
      BatchError(.malformed, "damaged", path: "x", remedy: .raiseMemory),
      BatchError(.unsupported, "no", errno: 5, remedy: "another way"), BatchError(.special, "odd"),
    ]
    return [
      .opened(compressionFact: nil), .opened(compressionFact: "compared"), .entry(entry, tellsOwner: true),
      .entry(link, tellsOwner: false), .end, .drained(remarks: [], format: "ar", checks: "none"),
      .drained(remarks: ["one", ""], format: "", checks: ""),
    ] + errors.map { .unusable($0) } + errors.map { .failure($0) }
  }

  private func decoded(_ bytes: [UInt8]) -> ReaderMessage? {
    guard bytes.count >= ReaderMessage.headSize else { return nil }
    return bytes.withUnsafeBytes {
      guard
        ReaderMessage.length(UnsafeRawBufferPointer(rebasing: $0.prefix(ReaderMessage.headSize))) == $0.count
          - ReaderMessage.headSize
      else { return nil }
      return ReaderMessage(
        kind: $0[0], UnsafeRawBufferPointer(rebasing: $0[ReaderMessage.headSize...]))
    }
  }

  @Test("are decoded as they were encoded")
  func roundTrip() throws {
    for message in Self.messages { #expect(try #require(decoded(message.bytes)).bytes == message.bytes) }
    guard case .entry(let entry, true)? = decoded(Self.messages[2].bytes) else {
      Issue.record("no entry")
      return
    }
    #expect(entry == Self.entry)
    guard case .unusable(let error)? = decoded(Self.messages[7].bytes) else {
      Issue.record("no error")
      return
    }
    #expect(error == BatchError(.malformed, "damaged", path: "x", remedy: .raiseMemory))
    [UInt8](1...9).withUnsafeBytes {
      let bytes = ReaderMessage.piece($0, offset: 3, bytesRead: 4).bytes
      bytes.withUnsafeBytes {
        guard
          case .piece(let content, 3, 4)? = ReaderMessage(
            kind: $0[0], UnsafeRawBufferPointer(rebasing: $0[5...]))
        else {
          Issue.record("no piece")
          return
        }
        #expect(Array(content) == Array(1...9))
      }
    }
  }

  @Test("are invalid when they are cut off, have too many bytes, or claim too many")
  func lengths() {
    for message in Self.messages {
      let body = Array(message.bytes.dropFirst(ReaderMessage.headSize))
      for count in 0..<body.count {
        body.withUnsafeBytes {
          #expect(
            ReaderMessage(kind: message.bytes[0], UnsafeRawBufferPointer(rebasing: $0[..<count])) == nil)
        }
      }
      (body + [0]).withUnsafeBytes { #expect(ReaderMessage(kind: message.bytes[0], $0) == nil) }
    }
    for count in 0..<16 {
      [UInt8](repeating: 0, count: count).withUnsafeBytes { #expect(ReaderMessage(kind: 4, $0) == nil) }
    }
    for (head, length) in [
      ([1, 0, 0, 0, 4], 64 << 20), ([1, 1, 0, 0, 4], nil), ([1, 255, 255, 255, 255], nil),
    ] as [([UInt8], Int?)] {
      head.withUnsafeBytes { #expect(ReaderMessage.length($0) == length) }
    }
  }

  @Test("with random bytes are invalid or another message, without a trap")
  func random() {
    var generator = ManifestFuzzTests.Generator(state: 14)
    let seeds = Self.messages.map(\.bytes)
    var valid = 0
    for _ in 0..<20_000 {
      var bytes = seeds.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        bytes[place] = UInt8.random(in: 0...255, using: &generator)
      }
      guard let message = decoded(bytes) else { continue }
      valid += 1
      #expect(decoded(message.bytes) != nil, "\(bytes)")
      if case .entry(let entry, _) = message {
        #expect(!entry.path.bytes.contains(0) && entry.mode <= 0o7777)
      }
    }
    #expect(valid > 100)
  }
}
