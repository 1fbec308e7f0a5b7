import BatchEngine
import CBlake3

/// Computes a BLAKE3 digest, on one thread at a time.
///
/// In addition to bytes it accepts chaining values of whole subtrees, which may have been computed on other threads; the
/// library's stack joins both, in the order of the calls.
final class Blake3Hasher {
  private static let parent: UInt8 = 1 << 2

  private let state: UnsafeMutablePointer<blake3_hasher>

  init() {
    state = .allocate(capacity: 1)
    blake3_hasher_init(state)
  }

  deinit {
    state.deallocate()
  }

  func reset() { blake3_hasher_reset(state) }

  func update(_ bytes: UnsafeRawBufferPointer) {
    blake3_hasher_update(state, bytes.baseAddress, bytes.count)
  }

  func finish() -> Digest {
    Digest(.blake3) { buffer in
      blake3_hasher_finalize(
        state, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), Int(BLAKE3_OUT_LEN))
    }
  }

  /// Adds a subtree instead of its bytes. All bytes before it must form whole subtrees of the same size.
  ///
  /// - Parameters:
  ///   - value: its chaining value, 32 bytes.
  ///   - chunks: how many chunks of 1,024 bytes it has: a power of two.
  func push(_ value: UnsafeRawBufferPointer, chunks: Int) {
    let length = Int(BLAKE3_OUT_LEN)
    let before = state.pointee.chunk.chunk_counter
    // As in the library: parents are joined only when more follows, because the last one is the root.
    withUnsafeMutableBytes(of: &state.pointee.cv_stack) { stack in
      while Int(state.pointee.cv_stack_len) > before.nonzeroBitCount {
        let left = (Int(state.pointee.cv_stack_len) - 2) * length
        let pair = UnsafeMutableRawBufferPointer(rebasing: stack[left..<(left + 2 * length)])
        Self.join(pair, key: state.pointee.key)
        state.pointee.cv_stack_len -= 1
      }
      let end = Int(state.pointee.cv_stack_len) * length
      UnsafeMutableRawBufferPointer(rebasing: stack[end..<(end + length)]).copyMemory(from: value)
    }
    state.pointee.cv_stack_len += 1
    state.pointee.chunk.chunk_counter = before + UInt64(chunks)
  }

  /// Replaces the chaining value of the left child by that of its parent.
  private static func join(
    _ pair: UnsafeMutableRawBufferPointer,
    key: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)
  ) {
    var value = key
    withUnsafeMutableBytes(of: &value) { words in
      blake3_compress_in_place(
        words.assumingMemoryBound(to: UInt32.self).baseAddress,
        pair.assumingMemoryBound(to: UInt8.self).baseAddress, UInt8(BLAKE3_BLOCK_LEN), 0, parent)
      // The words of a chaining value are stored in little-endian order.
      for index in 0..<8 {
        let word = words.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)
        pair.storeBytes(of: word.littleEndian, toByteOffset: 4 * index, as: UInt32.self)
      }
    }
  }
}
