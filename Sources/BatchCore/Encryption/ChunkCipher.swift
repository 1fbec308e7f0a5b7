import BatchEngine
import CCrypto

/// The nonce of a chunk: its number in 11 bytes, and whether it is the last one.
struct ChunkNonce {
  let bytes: [UInt8]

  init(number: UInt64 = 0, isLast: Bool = false) {
    bytes = [0, 0, 0] + withUnsafeBytes(of: number.bigEndian) { Array($0) } + [isLast ? 1 : 0]
  }
}

/// ChaCha20-Poly1305 with one key, for one thread at a time.
final class ChunkCipher {
  // Fetched once and never changed.
  private nonisolated(unsafe) static let cipher = EVP_CIPHER_fetch(nil, "ChaCha20-Poly1305", nil)

  private let context: OpaquePointer
  private let key: SecretBytes
  private enum Direction: Int32 {
    case opens = 0
    case seals = 1
  }
  private var direction: Direction?

  init(_ key: SecretBytes) throws(BatchError) {
    guard Self.cipher != nil, let context = EVP_CIPHER_CTX_new() else {
      throw Primitives.failure("ChaCha20-Poly1305")
    }
    self.context = context
    self.key = key
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// - Parameter room: memory for the bytes and a tag.
  func seal(
    _ plain: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, nonce: ChunkNonce
  ) throws(BatchError) {
    let output = room.bytes
    var count: Int32 = 0
    guard try begin(.seals, nonce), let output,
      plain.isEmpty
        || EVP_CipherUpdate(context, output, &count, plain.bytes, Int32(clamping: plain.count)) == 1,
      Int(count) == plain.count, EVP_CipherFinal_ex(context, output + plain.count, &count) == 1,
      EVP_CIPHER_CTX_ctrl(
        context, EVP_CTRL_AEAD_GET_TAG, Int32(Primitives.tagSize), output + plain.count) == 1
    else { throw Primitives.failure("ChaCha20-Poly1305") }
  }

  /// - Parameter room: memory for the decrypted bytes; all zeros when this returns false.
  /// - Returns: whether the tag is correct.
  func open(
    _ sealed: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, nonce: ChunkNonce
  ) throws(BatchError) -> Bool {
    let count = sealed.count - Primitives.tagSize
    guard count >= 0, count <= room.count else { return false }
    var tag = (UInt64(0), UInt64(0))
    withUnsafeMutableBytes(of: &tag) {
      $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: sealed[count...]))
    }
    var none: UInt8 = 0
    var written: Int32 = 0
    guard try begin(.opens, nonce),
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Primitives.tagSize), &tag) == 1
    else { throw Primitives.failure("ChaCha20-Poly1305") }
    guard
      count == 0 || EVP_CipherUpdate(context, room.bytes, &written, sealed.bytes, Int32(clamping: count)) == 1
    else { throw Primitives.failure("ChaCha20-Poly1305") }
    guard EVP_CipherFinal_ex(context, &none, &written) == 1 else {
      ERR_clear_error()
      // Plain text that failed the authentication must not be used.
      OPENSSL_cleanse(room.baseAddress, count)
      return false
    }
    return true
  }

  private func begin(_ direction: Direction, _ nonce: ChunkNonce) throws(BatchError) -> Bool {
    // The key schedule is set up once for each direction.
    let isNew = self.direction != direction
    self.direction = direction
    return try key.withBytes { (key) throws(BatchError) in
      EVP_CipherInit_ex2(
        context, isNew ? Self.cipher : nil, isNew ? key.bytes : nil, nonce.bytes, direction.rawValue, nil)
        == 1
    }
  }
}
