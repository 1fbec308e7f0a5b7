import Synchronization

@testable import BatchCore
@testable import BatchEngine

private let lock = (try? AgeIdentity()).map { identity in
  (AgeKeys(identities: [identity]), AgeLock.recipients([identity.recipient]))
}
private nonisolated(unsafe) var contexts: [CompressionFormat: any CodecContext] = [:]

/// Any content must be restored from each format that the program writes, as a whole and in blocks, and from
/// encryption.
func fuzzEncodedContent(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 2 else { return }
  var content = Array(UnsafeBufferPointer(start: start + 2, count: count - 2))
  // Repeats a short input to a long content.
  let times = 1 << (start[1] & 7)
  if content.count * times <= 1 << 18 { content = (0..<times).flatMap { _ in content } }
  let formats = CompressionFormat.writable
  let index = Int(start[0]) % (formats.count + 1)
  guard formats.indices.contains(index) else { return encrypt(content, piece: 1 + Int(start[1]) * 97) }
  let format = formats[index]
  guard let context = contexts[format] ?? (try? format.makeContext(level: format.fastestLevel)) else {
    return
  }
  contexts[format] = context
  var files: [[UInt8]] = []
  content.withUnsafeBytes { raw in
    var file: [UInt8] = []
    if (try? context.compress(wholeFile: raw, into: &file)) != nil { files.append(file) }
    if let file = joined(raw, format, context, hasSize: start[1] & 8 == 0) { files.append(file) }
  }
  precondition(files.count == 2, "content that cannot be compressed")
  for file in files {
    let found = file.withUnsafeBytes { StockDecoder.content(of: $0, format, largest: content.count) }
    precondition(found == content, "the library of the format makes something else of it")
    var own: [UInt8] = []
    let decoder = try? format.makeDecoder(by: RunContext().reading)
    file.withUnsafeBytes { raw in
      precondition(
        decoder.flatMap { try? $0.decode(wholeFile: raw, to: { own += $0 }) } != nil,
        "its own file is refused")
    }
    precondition(own == content, "another content")
  }
}

/// - Returns: nil on an error.
private func joined(
  _ content: UnsafeRawBufferPointer, _ format: CompressionFormat, _ context: any CodecContext, hasSize: Bool
) -> [UInt8]? {
  guard
    let plan = try? BlockPlan(
      format, level: format.fastestLevel, fileSize: hasSize ? UInt64(content.count) : nil),
    let joiner = try? BlockJoiner(plan)
  else { return nil }
  var file = joiner.header
  for start in stride(from: 0, to: content.count, by: plan.blockSize) {
    let block = UnsafeRawBufferPointer(
      rebasing: content[start..<min(content.count, start + plan.blockSize)])
    guard let made = try? context.compress(block: block, index: start / plan.blockSize),
      (try? joiner.append(made)) != nil
    else { return nil }
    file += made.bytes
  }
  guard let end = try? joiner.finish() else { return nil }
  return file + end
}

/// Encrypted content must be restored in sequence and at any place.
private func encrypt(_ content: [UInt8], piece: Int) {
  guard let (keys, lock) = lock else { return }
  let sink = CollectedBytes()
  guard let output = try? EncryptedOutput(sink, for: lock) else { return }
  var rest = content[...]
  while !rest.isEmpty {
    precondition((try? output.write(Array(rest.prefix(piece)))) != nil, "cannot be written")
    rest = rest.dropFirst(piece)
  }
  precondition((try? output.finish()) != nil, "cannot be finished")
  let file = sink.bytes.withLock { $0 }
  let reading: AgeFile.Reading = { (offset, room) throws(BatchError) in
    let rest = file.dropFirst(Int(clamping: offset)).prefix(room.count)
    room.copyBytes(from: rest)
    return rest.count
  }
  let stream = AgeStream(reading: AgeFile.sequence(reading))
  precondition((try? stream.isEncrypted()) == true && (try? stream.open(keys)) != nil, "cannot be opened")
  var found: [UInt8] = []
  while let plain = try? stream.next({ Array($0) }), !plain.isEmpty { found += plain }
  precondition(found == content, "another content in turn")
  guard let opened = try? AgeFile(size: UInt64(file.count), keys: keys, reading: reading) else {
    preconditionFailure("cannot be opened at any place")
  }
  precondition(opened.size == UInt64(content.count), "another size")
  for offset in stride(from: 0, through: content.count, by: max(1, content.count / 5)) {
    var room = [UInt8](repeating: 0, count: 1000)
    let count = room.withUnsafeMutableBytes { try? opened.read(at: UInt64(offset), into: $0) }
    precondition(count == min(1000, content.count - offset), "more or less than there is")
    precondition(
      room.prefix(count ?? 0).elementsEqual(content[offset...].prefix(1000)), "another content there")
  }
}

private final class CollectedBytes: ResultStream {
  let bytes = Mutex<[UInt8]>([])

  func write(_ bytes: [UInt8]) throws(BatchError) { self.bytes.withLock { $0 += bytes } }
  func finish() throws(BatchError) {}
}
