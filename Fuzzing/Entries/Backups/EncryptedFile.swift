import BatchEngine

@testable import BatchCore

/// A fixed key, so that the files of a corpus can be decrypted. It protects nothing.
private let keys: AgeKeys? = {
  let text = "AGE-SECRET-KEY-1R63CMFEJ98A2RCWF634GRKALXWJW6SPPC0DQKEX6556CCRS2NXASWYMHXQ"
  guard let identity = try? AgeIdentity(Array(text.utf8)) else { return nil }
  return AgeKeys(identities: [identity])
}()

/// Headers and payloads of age, armor, recipients and identities. A payload that can be read in sequence must
/// have the same content when it is read at any place.
func fuzzEncryptedFile(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  guard let keys else { return }
  var reader = AgeHeaderReader()
  if let header = try? reader.read(bytes, isAll: true) {
    precondition(header.bytes == Array(bytes[..<header.size]), "a header has two forms")
  }
  _ = try? AgeRecipient.list(bytes, "recipients")
  _ = try? bytes.withUnsafeBytes { try AgeIdentity.list($0, "identities") }
  let reading: AgeFile.Reading = { (offset, room) throws(BatchError) in
    let rest = bytes.dropFirst(Int(clamping: offset)).prefix(min(room.count, 100))
    room.copyBytes(from: rest)
    return rest.count
  }
  let stream = AgeStream(reading: AgeFile.sequence(reading))
  guard (try? stream.isEncrypted()) == true else { return }
  let isArmored = stream.isArmored
  let inTurn = content(stream, keys)
  guard !isArmored, inTurn.isWhole || !inTurn.plain.isEmpty else { return }
  let whole: AgeFile.Reading = { (offset, room) throws(BatchError) in
    let rest = bytes.dropFirst(Int(clamping: offset)).prefix(room.count)
    room.copyBytes(from: rest)
    return rest.count
  }
  let file = try? AgeFile(size: UInt64(bytes.count), keys: keys, reading: whole)
  var plain = [UInt8](repeating: 0, count: count)
  let found = plain.withUnsafeMutableBytes { room in file.flatMap { try? $0.read(at: 0, into: room) } }
  precondition((found != nil) == inTurn.isWhole, "one of two ways of reading finds no damage")
  if let found { precondition(plain[..<found].elementsEqual(inTurn.plain), "two contents") }
}

private func content(_ stream: AgeStream, _ keys: AgeKeys) -> (plain: [UInt8], isWhole: Bool) {
  var plain: [UInt8] = []
  do {
    try stream.open(keys)
    while true {
      let piece = try stream.next { Array($0) }
      if piece.isEmpty { return (plain, true) }
      plain += piece
    }
  } catch {
    return (plain, false)
  }
}
