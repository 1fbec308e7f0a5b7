import BatchEngine
import CIPSecMB
import Synchronization

/// Computes the SHA-256 of several short contents at once on one core, with libIPSec_MB.
///
/// The SHA instructions wait for their own results, so two interleaved contents take the time of one. Processors without these
/// instructions compute 8 or 16 contents in vector lanes.
package final class MultiBufferDigests: Sendable {
  /// The instructions that the library uses.
  package enum Method: String, CaseIterable, Sendable {
    case shaExtensions = "sse"
    case avx512
    case avx2

    /// How many contents are computed at once.
    package var width: Int {
      switch self {
      case .shaExtensions: 2
      case .avx512: 16
      case .avx2: 8
      }
    }

    /// The longest content. The library counts bytes in 16 bits, and longer contents get a wrong digest without an error. With
    /// many vector lanes, a content that is longer than the others is slow, because it is hashed alone.
    var longest: Int { self == .shaExtensions ? 65_534 : 16 << 10 }
  }

  /// The longest content that any method accepts.
  static let longest = 65_534

  /// Shared by all lanes; opened when there is enough work.
  package static let shared = OptionalLibrary(threshold: 16 << 20) { () throws(BatchError) in
    let digests = try MultiBufferDigests()
    try MultiBufferTrial.check(longest: digests.method.longest) { digests.compute($0, into: $1) }
    return digests
  }

  package let method: Method
  package let version: String

  #if arch(x86_64)
    private typealias Allocate = @Sendable @convention(c) (UInt64) -> UnsafeMutableRawPointer?
    private typealias Use = @Sendable @convention(c) (UnsafeMutableRawPointer) -> Void
    private typealias Features = @convention(c) () -> UInt64
    private typealias Version = @convention(c) () -> UInt32

    private let allocate: Allocate
    private let initialize: Use
    private let free: Use
    /// Addresses of managers that no lane uses now; each takes 200 KB.
    private let managers = Mutex<[UInt]>([])

    /// - Parameters:
    ///   - folders: the folders in which the library is searched.
    ///   - method: by default the best one that the processor supports.
    /// - Throws: `unsupported` if the library or the processor does not support it.
    package init(
      in folders: [String] = SystemLibrary.folders, method: Method? = nil
    ) throws(BatchError) {
      guard let library = SystemLibrary("libIPSec_MB.so.1", in: folders),
        let version = library.function("imb_get_version", as: Version.self),
        let features = library.function("imb_get_feature_flags", as: Features.self),
        let allocate = library.function("alloc_mb_mgr", as: Allocate.self),
        let free = library.function("free_mb_mgr", as: Use.self)
      else { throw BatchError(.unsupported, "not installed (libipsec-mb1)") }
      // The structures match only one version of the library.
      guard version() == cipsecmb_version else {
        throw BatchError(.unsupported, "another version than \(IMB_VERSION_STR)")
      }
      let present = features()
      guard
        let method = (method.map { [$0] } ?? Method.allCases).first(where: {
          present & $0.features == $0.features
        }), let initialize = library.function("init_mb_mgr_\(method.rawValue)", as: Use.self)
      else { throw BatchError(.unsupported, "not for this processor") }
      self.method = method
      self.version = IMB_VERSION_STR
      self.allocate = allocate
      self.initialize = initialize
      self.free = free
    }

    deinit {
      for address in managers.withLock({ $0 }) {
        if let manager = UnsafeMutableRawPointer(bitPattern: address) { free(manager) }
      }
    }

    /// Writes the digests of these contents, 32 bytes each; none may be longer than the method allows, or have no address.
    ///
    /// - Returns: whether all could be computed.
    func compute(
      _ contents: [UnsafeRawBufferPointer], into digests: UnsafeMutablePointer<UInt8>
    ) -> Bool {
      let known = managers.withLock { $0.popLast() }
      let manager: UnsafeMutableRawPointer
      if let kept = known.flatMap({ UnsafeMutableRawPointer(bitPattern: $0) }) {
        manager = kept
      } else if let made = allocate(method == .shaExtensions ? 0 : cipsecmb_without_sha) {
        initialize(made)
        manager = made
      } else {
        return false
      }
      defer { managers.withLock { $0.append(UInt(bitPattern: manager)) } }
      let messages = contents.map { cipsecmb_message(start: $0.baseAddress, count: UInt64($0.count)) }
      return cipsecmb_sha256(manager, messages, messages.count, digests) == messages.count
    }
  #else
    package init(
      in folders: [String] = SystemLibrary.folders, method: Method? = nil
    ) throws(BatchError) {
      throw BatchError(.unsupported, "not for this processor")
    }

    func compute(
      _ contents: [UnsafeRawBufferPointer], into digests: UnsafeMutablePointer<UInt8>
    ) -> Bool { false }
  #endif
}

extension MultiBufferDigests.Method {
  /// The processor features that the method needs.
  fileprivate var features: UInt64 {
    #if arch(x86_64)
      switch self {
      case .shaExtensions: cipsecmb_sse_features
      case .avx512: cipsecmb_avx512_features
      case .avx2: cipsecmb_avx2_features
      }
    #else
      UInt64.max
    #endif
  }
}

/// Tests the parallel computation before it is used: compares its digests with those of libcrypto.
enum MultiBufferTrial {
  typealias Compute = ([UnsafeRawBufferPointer], UnsafeMutablePointer<UInt8>) -> Bool

  /// All lengths of up to three blocks, then longer ones mixed with short ones, also at the borders of blocks.
  private static func counts(longest: Int) -> [Int] {
    (Array(0...192) + [4_095, 1, 4_096, 0, 4_097, 64, longest, 55, longest - 1, 56, longest / 2])
      .filter { (0...longest).contains($0) }
  }

  /// - Throws: `unsupported` if a digest differs.
  static func check(longest: Int, _ compute: Compute) throws(BatchError) {
    let counts = counts(longest: longest)
    // Each content begins at a different offset of the same bytes.
    let bytes = (0..<(longest + counts.count)).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 7) }
    let stream = try DigestStream(.sha256)
    let isRight = try withBytes(of: bytes) { (raw) throws(BatchError) in
      let contents = counts.enumerated().map { UnsafeRawBufferPointer(rebasing: raw[$0..<($0 + $1)]) }
      var digests = [UInt8](repeating: 0, count: contents.count * 32)
      let isComputed = digests.withUnsafeMutableBufferPointer { digests in
        digests.baseAddress.map { compute(contents, $0) } ?? false
      }
      guard isComputed else { return false }
      for (index, content) in contents.enumerated() {
        let expected = try stream.digest(of: content)
        guard Digest(.sha256, bytes: digests[(index * 32)..<(index * 32 + 32)]) == expected else {
          return false
        }
      }
      return true
    }
    guard isRight else {
      throw BatchError(.unsupported, "failed its self-test: its digests differ from libcrypto")
    }
  }
}
