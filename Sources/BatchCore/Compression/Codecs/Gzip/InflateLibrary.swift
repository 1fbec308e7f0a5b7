import BatchEngine
import CIsal

/// ISA-L, whose inflate takes a fifth of the time of zlib's. It reports damage less precisely.
package final class InflateLibrary: Sendable {
  /// Shared by all lanes; opened when there is enough work.
  package static let shared = OptionalLibrary(threshold: 1 << 20) { () throws(BatchError) in
    let library = try InflateLibrary()
    try InflateTrial.check(library)
    return library
  }

  #if arch(x86_64)
    typealias Begin = @Sendable @convention(c) (UnsafeMutableRawPointer) -> Void
    typealias Inflate = @Sendable @convention(c) (UnsafeMutableRawPointer) -> Int32
    typealias Check = @Sendable @convention(c) (UInt32, UnsafeRawPointer, UInt64) -> UInt32

    let begin: Begin
    let inflate: Inflate
    private let check: Check

    /// - Parameter folders: the folders in which the library is searched.
    /// - Throws: `unsupported` if it is not found.
    package init(in folders: [String] = SystemLibrary.folders) throws(BatchError) {
      guard let library = SystemLibrary("libisal.so.2", in: folders),
        let begin = library.function("isal_inflate_init", as: Begin.self),
        let inflate = library.function("isal_inflate", as: Inflate.self),
        let check = library.function("crc32_gzip_refl", as: Check.self)
      else { throw BatchError(.unsupported, "not installed (libisal2)") }
      self.begin = begin
      self.inflate = inflate
      self.check = check
    }

    /// The CRC-32 of bytes that follow others; faster than libdeflate.
    func check(_ bytes: UnsafeRawBufferPointer, after before: UInt32 = 0) -> UInt32 {
      bytes.baseAddress.map { check(before, $0, UInt64(bytes.count)) } ?? before
    }
  #else
    package init(in folders: [String] = SystemLibrary.folders) throws(BatchError) {
      throw BatchError(.unsupported, "not for this processor")
    }

    func check(_ bytes: UnsafeRawBufferPointer, after before: UInt32 = 0) -> UInt32 { before }
  #endif
}

/// A DEFLATE stream, RFC 1951, that ISA-L decodes.
final class InflateStream {
  struct Step {
    let consumed: Int
    let produced: Int
    /// Whether the bytes are not a DEFLATE stream; the bytes produced before are valid content.
    let isCorrupt: Bool
  }

  #if arch(x86_64)
    /// Later versions of the library may have a larger state.
    private static let spare = 64 << 10

    let library: InflateLibrary
    private let state: UnsafeMutableRawPointer

    init(_ library: InflateLibrary) {
      self.library = library
      state = .allocate(byteCount: cisal_state_size + Self.spare, alignment: 64)
    }

    deinit { state.deallocate() }

    func begin() { library.begin(state) }

    func step(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Step {
      let inputSize = UInt32(clamping: input.count)
      let outputSize = UInt32(clamping: output.count)
      cisal_lend(state, input.baseAddress, inputSize, output.baseAddress, outputSize)
      let result = library.inflate(state)
      return Step(
        consumed: Int(inputSize - min(inputSize, cisal_unused_input(state))),
        produced: Int(outputSize - min(outputSize, cisal_unused_output(state))), isCorrupt: result < 0)
    }

    /// Whether all content of the stream was produced.
    var isFinished: Bool { cisal_is_finished(state) }

    /// Whether the input ends where a block begins, and all content before it was produced.
    var isBetweenBlocks: Bool { cisal_is_between_blocks(state) }

    /// Returns the consumed bytes after the end of the stream, at most 8.
    func takeRest() -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 8) { bytes, count in
        count = bytes.baseAddress.map { cisal_take_rest(state, $0) } ?? 0
      }
    }
  #else
    let library: InflateLibrary

    init(_ library: InflateLibrary) { self.library = library }

    func begin() {}

    func step(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Step {
      Step(consumed: 0, produced: 0, isCorrupt: true)
    }

    var isFinished: Bool { false }
    var isBetweenBlocks: Bool { false }
    func takeRest() -> [UInt8] { [] }
  #endif
}
