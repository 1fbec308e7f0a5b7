import BatchEngine
import CCrypto

/// The primitives of the age format, all of them from libcrypto.
enum Primitives {
  static let keySize = 32
  static let fileKeySize = 16
  static let tagSize = 16

  static func random(_ count: Int) throws(BatchError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let status = bytes.withUnsafeMutableBytes {
      RAND_bytes($0.bytes, Int32(clamping: count))
    }
    guard status == 1 else { throw failure("random numbers") }
    return bytes
  }

  static func randomSecret(_ count: Int) throws(BatchError) -> SecretBytes {
    try SecretBytes(count: count) { (room) throws(BatchError) in
      let status = RAND_priv_bytes(room.bytes, Int32(clamping: room.count))
      guard status == 1 else { throw failure("random numbers") }
    }
  }

  // MARK: HMAC and HKDF of SHA-256

  static func authenticate(_ message: [UInt8], key: SecretBytes) throws(BatchError) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: keySize)
    try key.withBytes { (key) throws(BatchError) in
      try withBytes(of: message) { (message) throws(BatchError) in
        try withMutableBytes(of: &result) { (room) throws(BatchError) in try hmac(key, message, into: room) }
      }
    }
    return result
  }

  private static func hmac(
    _ key: UnsafeRawBufferPointer, _ message: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(BatchError) {
    // A null pointer would mean the key of the previous call.
    var none: UInt8 = 0
    let done = withUnsafeBytes(of: &none) { empty in
      HMAC(
        EVP_sha256(), key.baseAddress ?? empty.baseAddress, Int32(clamping: key.count),
        message.bytes, message.count, room.bytes, nil)
    }
    guard done != nil else { throw failure("HMAC") }
  }

  /// 32 bytes of HKDF-SHA-256, RFC 5869.
  static func derive(_ secret: SecretBytes, salt: [UInt8], info: String) throws(BatchError) -> SecretBytes {
    let inner = try SecretBytes(count: keySize) { (room) throws(BatchError) in
      try withBytes(of: salt) { (salt) throws(BatchError) in
        try secret.withBytes { (secret) throws(BatchError) in try hmac(salt, secret, into: room) }
      }
    }
    return try SecretBytes(count: keySize) { (room) throws(BatchError) in
      try withBytes(of: Array(info.utf8) + [1]) { (info) throws(BatchError) in
        try inner.withBytes { (inner) throws(BatchError) in try hmac(inner, info, into: room) }
      }
    }
  }

  static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
  }

  // MARK: X25519

  static func publicKey(of secret: SecretBytes) throws(BatchError) -> [UInt8] {
    let key = try privateKey(secret)
    defer { EVP_PKEY_free(key) }
    var bytes = [UInt8](repeating: 0, count: keySize)
    var count = bytes.count
    guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == keySize else {
      throw failure("X25519")
    }
    return bytes
  }

  /// - Returns: nil for a share of low order, with which no secret can be agreed.
  static func agree(_ secret: SecretBytes, with share: [UInt8]) throws(BatchError) -> SecretBytes? {
    let key = try privateKey(secret)
    defer { EVP_PKEY_free(key) }
    guard let peer = EVP_PKEY_new_raw_public_key_ex(nil, "X25519", nil, share, share.count),
      let context = EVP_PKEY_CTX_new(key, nil)
    else { throw failure("X25519") }
    defer {
      EVP_PKEY_free(peer)
      EVP_PKEY_CTX_free(context)
    }
    guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1 else {
      throw failure("X25519")
    }
    var isAgreed = false
    let result = try SecretBytes(count: keySize) { (room) throws(BatchError) in
      var count = room.count
      isAgreed = EVP_PKEY_derive(context, room.bytes, &count) == 1 && count == keySize
      isAgreed = isAgreed && room.contains { $0 != 0 }
    }
    ERR_clear_error()
    return isAgreed ? result : nil
  }

  private static func privateKey(_ secret: SecretBytes) throws(BatchError) -> OpaquePointer {
    try secret.withBytes { (raw) throws(BatchError) in
      guard let key = EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, raw.bytes, raw.count) else {
        throw failure("X25519")
      }
      return key
    }
  }

  // MARK: scrypt

  /// - Parameter factor: the base-2 logarithm of the number of blocks.
  static func stretch(_ passphrase: SecretBytes, salt: [UInt8], factor: Int) throws(BatchError) -> SecretBytes
  {
    try SecretBytes(count: keySize) { (room) throws(BatchError) in
      let status = try passphrase.withBytes { (raw) throws(BatchError) in
        EVP_PBE_scrypt(
          raw.baseAddress?.assumingMemoryBound(to: CChar.self), raw.count, salt, salt.count,
          UInt64(1) << UInt64(factor), 8, 1, UInt64.max >> 1, room.bytes, room.count)
      }
      guard status == 1 else { throw failure("scrypt") }
    }
  }

  /// The memory for ``stretch(_:salt:factor:)``, in bytes.
  static func memoryToStretch(factor: Int) -> Int { 1 << (factor + 10) }

  // MARK: The file key

  /// Encrypts the key of a file for one recipient; the key is used once, so the nonce is zero.
  static func wrap(_ fileKey: SecretBytes, by key: SecretBytes) throws(BatchError) -> [UInt8] {
    var body = [UInt8](repeating: 0, count: fileKeySize + tagSize)
    let cipher = try ChunkCipher(key)
    try fileKey.withBytes { (raw) throws(BatchError) in
      try withMutableBytes(of: &body) { (room) throws(BatchError) in
        try cipher.seal(raw, into: room, nonce: ChunkNonce())
      }
    }
    return body
  }

  /// - Returns: nil when it was encrypted with another key.
  static func unwrap(_ body: [UInt8], by key: SecretBytes) throws(BatchError) -> SecretBytes? {
    let cipher = try ChunkCipher(key)
    var isRight = false
    let fileKey = try SecretBytes(count: fileKeySize) { (room) throws(BatchError) in
      isRight = try withBytes(of: body) { (raw) throws(BatchError) in
        try cipher.open(raw, into: room, nonce: ChunkNonce())
      }
    }
    return isRight ? fileKey : nil
  }

  static func failure(_ what: String) -> BatchError {
    ERR_clear_error()
    return BatchError(.exhausted, "libcrypto cannot compute \(what)")
  }
}
