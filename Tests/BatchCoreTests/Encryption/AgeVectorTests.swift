import BatchEngine
import CZlib
import Foundation
import Testing

@testable import BatchCore

/// The test vectors of age (C2SP/CCTV), which are not part of this project. The variable
/// `BATCHPROC_AGE_TESTKIT` names a directory with them.
@Suite(
  "Test vectors of age",
  .enabled(if: Vectors.folder != nil, "BATCHPROC_AGE_TESTKIT does not name a directory with them"))
struct AgeVectorTests {
  private struct Vector {
    var fields: [String: [String]] = [:]
    var content: [UInt8]

    init(_ file: [UInt8]) throws {
      var rest = file[...]
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: rest[..<end], as: UTF8.self)
        rest = rest[(end + 1)...]
        if line.isEmpty { break }
        let colon = try #require(line.firstIndex(of: ":"))
        fields[String(line[..<colon]), default: []].append(String(line[colon...].dropFirst(2)))
      }
      content = Array(rest)
      guard fields["compressed"] != nil else { return }
      var size = uLong(64 << 20)
      var plain = [UInt8](repeating: 0, count: Int(size))
      #expect(uncompress(&plain, &size, content, uLong(content.count)) == Z_OK)
      content = Array(plain[..<Int(size)])
    }
  }

  @Test("give the result that they state", arguments: Vectors.names)
  func vector(name: String) throws {
    let path = URL(fileURLWithPath: try #require(Vectors.folder)).appendingPathComponent(name)
    let vector = try Vector([UInt8](Data(contentsOf: path)))
    var keys = AgeKeys()
    var hasUnknown = false
    for text in vector.fields["identity"] ?? [] {
      if let identity = try AgeIdentity(Array(text.utf8)) {
        keys.identities.append(identity)
      } else {
        hasUnknown = true
      }
    }
    keys.passphrases = try (vector.fields["passphrase"] ?? []).map {
      try SecretBytes(copying: Array($0.utf8))
    }
    let expected = try #require(vector.fields["expect"]?.first)
    var readers: [([UInt8]) throws -> [UInt8]] = [
      { try $0.streamed(keys) }, { try $0.streamed(keys, step: 7) },
    ]
    if vector.fields["armored"] == nil { readers.append { try $0.opened(keys, width: 2) } }
    for read in readers {
      do {
        let plain = try read(vector.content)
        #expect(expected == "success")
        let digest = try withBytes(of: plain) { (raw) throws(BatchError) in
          try DigestStream(.sha256).digest(of: raw)
        }
        #expect(digest.hex == vector.fields["payload"]?.first)
      } catch let error as BatchError {
        switch error.code {
        case .malformed: #expect(expected.hasSuffix("failure"))
        // The file is for a recipient of an unknown kind.
        case .unsupported: #expect(expected == "no match" || hasUnknown)
        default: Issue.record("\(error)")
        }
      }
    }
  }
}

private enum Vectors {
  static let folder = ProcessInfo.processInfo.environment["BATCHPROC_AGE_TESTKIT"]
  static let names: [String] =
    folder.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0) }?
    .filter { !$0.hasSuffix(".md") }.sorted() ?? []
}
