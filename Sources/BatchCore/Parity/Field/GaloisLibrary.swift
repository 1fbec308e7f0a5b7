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

  private typealias Begin = @Sendable @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
  fileprivate typealias End = @Sendable @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32

  private let begin: Begin
  private let end: End

  /// - Parameter folders: the folders in which the library is searched.
  /// - Throws: `unsupported` if it is not found.
  package init(in folders: [String] = SystemLibrary.folders) throws(BatchError) {
    guard let library = SystemLibrary("libgf_complete.so.1", in: folders),
      let begin = library.function("gf_init_easy", as: Begin.self),
      let end = library.function("gf_free", as: End.self)
    else { throw BatchError(.unsupported, "not installed (libgf-complete1)") }
    (self.begin, self.end) = (begin, end)
  }

  /// The tables of one lane; nil without memory for them.
  func field() -> Field? {
    let place = UnsafeMutableRawPointer.allocate(byteCount: cgf_size, alignment: 16)
    guard begin(place, 16) != 0 else {
      place.deallocate()
      return nil
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
      _ source: UnsafeRawPointer, times factor: UInt16, to target: UnsafeMutableRawPointer, count: Int32
    ) {
      cgf_add_product(place, source, target, UInt32(factor), count)
    }
  }

  /// Compares products with those of the table.
  ///
  /// - Throws: `unsupported` if one differs.
  private func check() throws(BatchError) {
    guard let field = field() else { throw BatchError(.unsupported, "no memory for its tables") }
    let elements = (0..<1_027).map { UInt16(truncatingIfNeeded: $0 &* 40_503 &+ 1) }
    for factor in [0, 1, 2, 3, 0x100, 0x1234, 0x8000, 0xFFFF] as [UInt16] {
      // An odd number of elements, and another alignment than that of the library.
      for start in [0, 8] {
        let regions = AlignedRegion(byteCount: elements.count * 2 + 16)
        let target = AlignedRegion(byteCount: elements.count * 2 + 16)
        for (index, element) in elements.enumerated() {
          regions.base.storeBytes(of: element.littleEndian, toByteOffset: start + 2 * index, as: UInt16.self)
          target.base.storeBytes(of: UInt16(7).littleEndian, toByteOffset: start + 2 * index, as: UInt16.self)
        }
        field.add(
          regions.base + start, times: factor, to: target.base + start, count: Int32(elements.count * 2))
        for (index, element) in elements.enumerated() {
          let found = UInt16(
            littleEndian: target.base.load(fromByteOffset: start + 2 * index, as: UInt16.self))
          guard found == GaloisField.shared.product(element, factor) ^ 7 else {
            throw BatchError(.unsupported, "failed its self-test: its products differ from the table")
          }
        }
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
