@testable import BatchCore
import BatchEngine

/// Headers and payloads of age, armor, and companions of encrypted manifests.
private let keys = try? AgeKeys(identities: [AgeIdentity()])

func fuzzEncryptedFile(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  guard let keys else { return }
  _ = try? Companion(bytes)
  if let header = try? AgeHeader.read(bytes, isAll: true) {
    precondition(header.bytes == Array(bytes[..<header.size]), "a header has two forms")
  }
  _ = try? AgeRecipient.list(bytes, "recipients")
  _ = try? bytes.withUnsafeBytes { try AgeIdentity.list($0, "identities") }
  var position = 0
  let stream = AgeStream { (room) throws(BatchError) in
    let count = min(room.count, bytes.count - position, 100)
    room.copyBytes(from: bytes[position..<(position + count)])
    position += count
    return count
  }
  guard (try? stream.isEncrypted()) == true, (try? stream.open(keys)) != nil else { return }
  while let count = try? stream.next({ $0.count }), count > 0 {}
}
