import BatchEngine
import CGFComplete
import Synchronization

/// libgf-complete, which multiplies regions with vector instructions.
package final class GaloisLibrary: Sendable {
  package static let shared = OptionalLibrary(threshold: 0) { () throws(BatchError) in
    let library = try GaloisLibrary()
    try library.check()
    return library
  }

  private typealias Begin =
    @Sendable @convention(c) (
      UnsafeMutableRawPointer, Int32, Int32, Int32, Int32, UInt64, Int32, Int32, UnsafeMutableRawPointer?,
      UnsafeMutableRawPointer?
    ) -> Int32
  fileprivate typealias End = @Sendable @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32

  private let begin: Begin
  private let end: End

  /// - Parameter folders: the folders in which the library is searched.
  /// - Throws: `unsupported` if it is not found.
  package init(in folders: [String] = SystemLibrary.folders) throws(BatchError) {
    guard let library = SystemLibrary("libgf_complete.so.1", in: folders),
      let begin = library.function("gf_init_hard", as: Begin.self),
      let end = library.function("gf_free", as: End.self)
    else { throw BatchError(.unsupported, "not installed (libgf-complete1)") }
    (self.begin, self.end) = (begin, end)
  }

  /// The tables of one lane.
  ///
  /// - Throws: `exhausted` without memory for them.
  func field() throws(BatchError) -> Field {
    let place = UnsafeMutableRawPointer.allocate(byteCount: cgf_size, alignment: 16)
    // Products by tables for four bits each, on elements whose bytes are apart ("alternate mapping").
    let made = begin(
      place, 16, Int32(GF_MULT_SPLIT_TABLE.rawValue), GF_REGION_ALTMAP | GF_REGION_SIMD,
      Int32(GF_DIVIDE_DEFAULT.rawValue), UInt64(GaloisField.polynomial), 16, 4, nil, nil)
    guard made != 0 else {
      place.deallocate()
      throw BatchError(.exhausted, "no memory for the tables of libgf-complete", remedy: .raiseMemory)
    }
    return Field(place, end)
  }

  /// Tables that the library uses for its products, on one thread at a time.
  final class Field {
    private let place: UnsafeMutableRawPointer
    private let end: End

    fileprivate init(_ place: UnsafeMutableRawPointer, _ end: @escaping End) {
      (self.place, self.end) = (place, end)
    }

    deinit {
      _ = end(place, 1)
      place.deallocate()
    }

    func add(
      _ source: UnsafeRawPointer, times factor: UInt16, to target: UnsafeMutableRawPointer, count: Int
    ) {
      cgf_add_product(place, source, target, UInt32(factor), Int32(clamping: count))
    }

    func arrange(_ region: UnsafeMutableRawPointer, count: Int) { cgf_arrange(region, count) }
    func restore(_ region: UnsafeMutableRawPointer, count: Int) { cgf_restore(region, count) }
  }

  /// Compares products with those of the table.
  ///
  /// - Throws: `unsupported` if one differs.
  private func check() throws(BatchError) {
    let field = try field()
    let elements = (0..<1_024).map { UInt16(truncatingIfNeeded: $0 &* 40_503 &+ 1) }
    let size = elements.count * 2
    let (source, target) = (AlignedRegion(byteCount: size), AlignedRegion(byteCount: size))
    for (index, element) in elements.enumerated() {
      source.base.storeBytes(of: element.littleEndian, toByteOffset: 2 * index, as: UInt16.self)
    }
    field.arrange(source.base, count: size)
    var sums = [UInt16](repeating: 0, count: elements.count)
    for factor in [0, 1, 2, 3, 0x100, 0x1234, 0x8000, 0xFFFF] as [UInt16] {
      field.add(source.base, times: factor, to: target.base, count: size)
      for index in sums.indices { sums[index] ^= GaloisField.shared.product(elements[index], factor) }
    }
    field.restore(target.base, count: size)
    for (index, sum) in sums.enumerated() {
      let found = UInt16(littleEndian: target.base.load(fromByteOffset: 2 * index, as: UInt16.self))
      guard found == sum else {
        throw BatchError(.unsupported, "failed its self-test: its products differ from the table")
      }
    }
  }
}

/// Memory that begins at a multiple of 64, filled with zeros.
final class AlignedRegion: Sendable {
  /// Used by one thread at a time, which the owner ensures.
  nonisolated(unsafe) let base: UnsafeMutableRawPointer
  let byteCount: Int

  init(byteCount: Int) {
    self.byteCount = max(64, byteCount)
    base = .allocate(byteCount: self.byteCount, alignment: 64)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: self.byteCount)
  }

  deinit { base.deallocate() }

  var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: base, count: byteCount) }
}
