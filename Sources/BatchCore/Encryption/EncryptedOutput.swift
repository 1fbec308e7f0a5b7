import BatchEngine
import Dispatch
import Synchronization

/// Encrypts the bytes that are written, and passes them on.
package final class EncryptedOutput: ResultStream {
  /// Chunks that one thread encrypts at a time.
  private static let run = 8

  private final class State {
    /// Plain bytes that wait until their chunk is full.
    var waiting: [UInt8] = []
    /// The header and nonce, until they are written.
    var start: [UInt8]
    var number: UInt64 = 0
    var isSealed = false
    /// A reused buffer for the encrypted bytes.
    var sealed: [UInt8] = []
    let digest: DigestStream?
    var result: Digest?
    var size: UInt64 = 0

    init(start: [UInt8], _ digest: DigestStream?) {
      self.start = start
      self.digest = digest
    }
  }

  private let stream: any ResultStream
  private let concurrency: ConcurrencyLimit?
  private let state: Mutex<State>
  /// The header and the nonce.
  private let start: [UInt8]
  private let key: PayloadKey

  /// - Parameters:
  ///   - lock: the recipients or the passphrase.
  ///   - digested: whether the SHA-256 of the encrypted bytes is computed.
  ///   - concurrency: how many threads may work, those of lanes included; nil for the calling thread alone.
  package convenience init(
    _ stream: any ResultStream, for lock: AgeLock, digested: Bool = false,
    concurrency: ConcurrencyLimit? = nil
  ) throws(BatchError) {
    let fileKey = try Primitives.randomSecret(Primitives.fileKeySize)
    try self.init(
      stream, AgeHeader(lock.stanzas(for: fileKey), fileKey: fileKey), fileKey, digested: digested,
      concurrency: concurrency)
  }

  /// Encrypts for the recipients of another file, with its header and key, so that only a key that opens the file is needed. Another
  /// nonce gives other keys for the chunks.
  ///
  /// - Parameter reading: reads the other file as it is stored.
  /// - Throws: `malformed` for a damaged header; `unsupported` when no key opens it.
  convenience init(
    _ stream: any ResultStream, as reading: AgeFile.Reading, keys: AgeKeys, digested: Bool = false,
    concurrency: ConcurrencyLimit? = nil
  ) throws(BatchError) {
    let header = try AgeHeader.read(by: reading)
    try self.init(stream, header, keys.fileKey(of: header), digested: digested, concurrency: concurrency)
  }

  private init(
    _ stream: any ResultStream, _ header: AgeHeader, _ fileKey: SecretBytes, digested: Bool,
    concurrency: ConcurrencyLimit?
  ) throws(BatchError) {
    let nonce = try Primitives.random(PayloadLayout.nonceSize)
    start = header.bytes + nonce
    key = try PayloadKey(fileKey, nonce: nonce)
    self.stream = stream
    self.concurrency = concurrency
    state = Mutex(State(start: start, digested ? try DigestStream(.sha256) : nil))
  }

  package func write(_ bytes: [UInt8]) throws(BatchError) {
    try state.withLock { (state) throws(BatchError) in
      // At least one byte is kept, because the last chunk is only known at the end.
      let count = (state.waiting.count + bytes.count - 1) / PayloadLayout.chunkSize
      guard count >= (concurrency?.current ?? 1) * Self.run else {
        state.waiting += bytes
        return
      }
      // Fills the waiting bytes up to whole chunks. The following chunks are encrypted directly from the input.
      let rest = state.waiting.count % PayloadLayout.chunkSize
      let taken = min(bytes.count, rest == 0 ? 0 : PayloadLayout.chunkSize - rest)
      state.waiting += bytes[..<taken]
      let behind = count * PayloadLayout.chunkSize - state.waiting.count
      guard behind >= 0, taken + behind <= bytes.count else {
        state.waiting += bytes[taken...]
        return
      }
      let sealed = taken + behind
      try seal(bytes[taken..<sealed], endsFile: false, &state)
      state.waiting += bytes[sealed...]
    }
  }

  /// Writes the last chunk; no writes may follow.
  package func seal() throws(BatchError) {
    try state.withLock { (state) throws(BatchError) in
      guard !state.isSealed else { return }
      state.isSealed = true
      try seal([], endsFile: true, &state)
      state.result = try state.digest?.finish()
    }
  }

  package func finish() throws(BatchError) {
    try seal()
    try stream.finish()
  }

  /// The digest of the encrypted bytes, after ``seal()``; nil if not requested.
  package var digest: Digest? { state.withLock { $0.result } }

  /// How many encrypted bytes there are.
  package var size: UInt64 { state.withLock { $0.size } }

  /// Opens the written file with the key, which is still in memory.
  ///
  /// - Throws: `malformed` when it differs from what was written.
  func reader(size: UInt64, reading: @escaping AgeFile.Reading) throws(BatchError) -> AgeFile {
    let found = try [UInt8](upTo: start.count) { (room) throws(BatchError) in try reading(0, room) }
    guard found == start else { throw AgeDamage.header("it is not the one that was written") }
    return try AgeFile(
      layout: PayloadLayout(start: UInt64(start.count), end: size), key: key, reading: reading)
  }

  /// Encrypts and writes the waiting and the following bytes. The waiting bytes are whole chunks, except at the end of the file.
  private func seal(_ following: ArraySlice<UInt8>, endsFile: Bool, _ state: inout sending State)
    throws(BatchError)
  {
    let plainSize = state.waiting.count + following.count
    let count = max(1, (plainSize + PayloadLayout.chunkSize - 1) / PayloadLayout.chunkSize)
    let begin = state.start.count
    var sealed = state.sealed
    state.sealed = []
    Self.resize(&sealed, to: begin + plainSize + count * Primitives.tagSize)
    sealed.replaceSubrange(..<begin, with: state.start)
    state.start = []
    let first = state.number
    let failure = Mutex<BatchError?>(nil)
    state.waiting.withUnsafeBytes { waiting in
      following.withUnsafeBytes { following in
        sealed.withUnsafeMutableBytes { room in
          nonisolated(unsafe) let (waiting, following, room) = (waiting, following, room)
          @Sendable func seal(lane: Int, of lanes: Int) {
            do throws(BatchError) {
              let cipher = try ChunkCipher(key.secret)
              for index in (count * lane / lanes)..<(count * (lane + 1) / lanes) {
                let from = index * PayloadLayout.chunkSize
                let size = min(plainSize - from, PayloadLayout.chunkSize)
                let plain =
                  from < waiting.count || waiting.isEmpty && size == 0
                  ? waiting[from..<(from + size)]
                  : following[(from - waiting.count)..<(from - waiting.count + size)]
                let to = begin + index * PayloadLayout.sealedSize
                try cipher.seal(
                  UnsafeRawBufferPointer(rebasing: plain),
                  into: UnsafeMutableRawBufferPointer(rebasing: room[to..<(to + size + Primitives.tagSize)]),
                  nonce: ChunkNonce(number: first + UInt64(index), isLast: endsFile && index == count - 1))
              }
            } catch {
              failure.withLock { $0 = error }
            }
          }
          // The bytes come from the collector, which works beside the lanes.
          let most = (count + Self.run - 1) / Self.run
          guard most > 1, let concurrency else { return seal(lane: 0, of: 1) }
          concurrency.withThreads(upTo: most, besidesLanes: true) { lanes in
            guard lanes > 1 else { return seal(lane: 0, of: 1) }
            DispatchQueue.concurrentPerform(iterations: lanes) { seal(lane: $0, of: lanes) }
          }
        }
      }
    }
    if let error = failure.withLock({ $0 }) { throw error }
    state.number += UInt64(count)
    state.waiting.removeAll(keepingCapacity: true)
    state.size += UInt64(sealed.count)
    if let digest = state.digest {
      try withBytes(of: sealed) { (raw) throws(BatchError) in try digest.update(raw) }
    }
    try stream.write(sealed)
    state.sealed = sealed
  }

  /// Most pieces have the size of the previous one; then no memory is cleared needlessly.
  private static func resize(_ bytes: inout [UInt8], to size: Int) {
    if bytes.count > size {
      bytes.removeLast(bytes.count - size)
    } else {
      bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
    }
  }
}
