import BatchEngine
import Dispatch
import Synchronization

/// Encrypts what is written, and passes it on.
package final class EncryptedOutput: ResultStream {
  /// Chunks that one thread seals at a time.
  private static let run = 8

  private final class State {
    /// Plain bytes that wait for their chunk to be full.
    var waiting: [UInt8]
    /// What stands before the first chunk, until it is written.
    var start: [UInt8]
    var number: UInt64 = 0
    var isSealed = false
    /// What is passed on; its memory is used again.
    var sealed: [UInt8] = []
    let digest: DigestStream?
    var result: Digest?
    var size: UInt64 = 0

    init(start: [UInt8], _ digest: DigestStream?) {
      self.start = start
      self.digest = digest
      waiting = []
    }
  }

  private let stream: any ResultStream
  private let width: @Sendable () -> Int
  private let state: Mutex<State>
  /// Header and nonce.
  private let start: [UInt8]
  private let key: PayloadKey

  /// - Parameters:
  ///   - lock: who can open it.
  ///   - digested: whether the SHA-256 of the encrypted bytes is wanted.
  ///   - width: how many threads may seal chunks.
  package init(
    _ stream: any ResultStream, for lock: AgeLock, digested: Bool = false,
    width: @escaping @Sendable () -> Int = { 1 }
  ) throws(BatchError) {
    let fileKey = try Primitives.randomSecret(Primitives.fileKeySize)
    let nonce = try Primitives.random(PayloadLayout.nonceSize)
    start = try AgeHeader(lock.stanzas(for: fileKey), fileKey: fileKey).bytes + nonce
    key = try PayloadKey(fileKey, nonce: nonce)
    self.stream = stream
    self.width = width
    state = Mutex(State(start: start, digested ? try DigestStream(.sha256) : nil))
  }

  package func write(_ bytes: [UInt8]) throws(BatchError) {
    try state.withLock { (state) throws(BatchError) in
      state.waiting += bytes
      // At least a byte stays: which chunk is the last one is known at the end.
      let batch = max(1, width()) * Self.run * PayloadLayout.chunkSize
      guard state.waiting.count > batch else { return }
      let count = (state.waiting.count - 1) / PayloadLayout.chunkSize
      try seal(count, endsFile: false, &state)
    }
  }

  /// Writes the last chunk; nothing can be written behind it.
  package func seal() throws(BatchError) {
    try state.withLock { (state) throws(BatchError) in
      guard !state.isSealed else { return }
      state.isSealed = true
      let count = max(1, (state.waiting.count + PayloadLayout.chunkSize - 1) / PayloadLayout.chunkSize)
      try seal(count, endsFile: true, &state)
      state.result = try state.digest?.finish()
    }
  }

  package func finish() throws(BatchError) {
    try seal()
    try stream.finish()
  }

  /// Of the encrypted bytes, behind ``seal()``; nil where it was not asked for.
  package var digest: Digest? { state.withLock { $0.result } }

  /// How many encrypted bytes there are.
  package var size: UInt64 { state.withLock { $0.size } }

  /// Opens what was written, by the key that is still known.
  ///
  /// - Throws: `malformed` when it is not what was written.
  func reader(size: UInt64, reading: @escaping AgeFile.Reading) throws(BatchError) -> AgeFile {
    var failure: BatchError?
    let found = [UInt8](unsafeUninitializedCapacity: start.count) { room, count in
      do throws(BatchError) {
        count = try reading(0, UnsafeMutableRawBufferPointer(room))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    guard found == start else { throw AgeDamage.header("it is not the one that was written") }
    return try AgeFile(
      layout: PayloadLayout(start: UInt64(start.count), end: size), key: key, reading: reading)
  }

  /// Seals chunks and writes them.
  private func seal(_ count: Int, endsFile: Bool, _ state: inout sending State) throws(BatchError) {
    let plainSize = min(state.waiting.count, count * PayloadLayout.chunkSize)
    let begin = state.start.count
    var sealed = state.sealed
    state.sealed = []
    sealed.removeAll(keepingCapacity: true)
    sealed += state.start
    state.start = []
    sealed.append(contentsOf: repeatElement(0, count: plainSize + count * Primitives.tagSize))
    let first = state.number
    let failure = Mutex<BatchError?>(nil)
    state.waiting.withUnsafeBytes { plain in
      sealed.withUnsafeMutableBytes { room in
        nonisolated(unsafe) let (plain, room) = (plain, room)
        let lanes = min(max(1, width()), (count + Self.run - 1) / Self.run)
        @Sendable func seal(lane: Int) {
          do throws(BatchError) {
            let cipher = try ChunkCipher(key.secret)
            for index in (count * lane / lanes)..<(count * (lane + 1) / lanes) {
              let from = index * PayloadLayout.chunkSize
              let to = begin + index * PayloadLayout.sealedSize
              let end = min(plainSize, from + PayloadLayout.chunkSize)
              try cipher.seal(
                UnsafeRawBufferPointer(rebasing: plain[from..<end]),
                into: UnsafeMutableRawBufferPointer(
                  rebasing: room[to..<(to + end - from + Primitives.tagSize)]),
                nonce: ChunkNonce(number: first + UInt64(index), isLast: endsFile && index == count - 1))
            }
          } catch {
            failure.withLock { $0 = error }
          }
        }
        if lanes == 1 {
          seal(lane: 0)
        } else {
          DispatchQueue.concurrentPerform(iterations: lanes) { seal(lane: $0) }
        }
      }
    }
    if let error = failure.withLock({ $0 }) { throw error }
    state.number += UInt64(count)
    state.waiting.removeFirst(plainSize)
    state.size += UInt64(sealed.count)
    if let digest = state.digest {
      try withBytes(of: sealed) { (raw) throws(BatchError) in try digest.update(raw) }
    }
    try stream.write(sealed)
    state.sealed = sealed
  }
}
