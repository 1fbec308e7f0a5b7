import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// The field of PAR2, and the products of regions in it.
@Suite struct GaloisFieldTests {
  private let field = GaloisField.shared

  /// Multiplication bit by bit, as the definition has it.
  private func product(_ left: UInt16, _ right: UInt16) -> UInt16 {
    var (sum, factor) = (0, Int(left))
    for bit in 0..<16 {
      if right >> UInt16(bit) & 1 == 1 { sum ^= factor }
      factor <<= 1
      if factor > 0xFFFF { factor ^= 0x1100B }
    }
    return UInt16(truncatingIfNeeded: sum)
  }

  @Test func productsFollowTheDefinition() {
    var numbers = SeededNumbers(seed: 1)
    for _ in 0..<2000 {
      let left = UInt16.random(in: 0...UInt16.max, using: &numbers)
      let right = UInt16.random(in: 0...UInt16.max, using: &numbers)
      #expect(field.product(left, right) == product(left, right))
      if left != 0 { #expect(field.product(left, field.inverse(left)) == 1) }
    }
  }

  @Test func constantsAreThoseOfTheFormat() {
    let constants = GaloisField.constants(ParityPacket.mostBlocks)
    #expect(constants.prefix(6) == [1, 2, 4, 7, 8, 11])
    #expect(constants.count == 32_768 && constants.last == 65_534)
    #expect(field.power(1, 0) == 1 && field.power(1, 1) == 2 && field.power(7, 2) == product(128, 128))
  }

  @Test("regions are multiplied by the library and by tables", arguments: [false, true])
  func regions(byLibrary: Bool) throws {
    let library = byLibrary ? try GaloisLibrary.shared.result().get() : nil
    let product = try RegionProduct(by: library)
    var numbers = SeededNumbers(seed: 2)
    for count in [64, 128, 4096, 4160] {
      for factor in [0, 1, 2, 0x8000, 0xABCD] as [UInt16] {
        let (source, target) = (AlignedRegion(byteCount: count), AlignedRegion(byteCount: count + 64))
        let elements = (0..<(count / 2)).map { _ in UInt16.random(in: 0...UInt16.max, using: &numbers) }
        for (index, element) in elements.enumerated() {
          source.base.storeBytes(of: element.littleEndian, toByteOffset: 2 * index, as: UInt16.self)
          target.base.storeBytes(
            of: UInt16(index & 0xFF).littleEndian, toByteOffset: 2 * index, as: UInt16.self)
        }
        product.arrange(source.base, count: count)
        product.arrange(target.base, count: count)
        product.add(source.base, times: factor, to: target.base, count: count)
        product.restore(target.base, count: count)
        for (index, element) in elements.enumerated() {
          let found = UInt16(littleEndian: target.base.load(fromByteOffset: 2 * index, as: UInt16.self))
          #expect(found == self.product(element, factor) ^ UInt16(index & 0xFF))
        }
        #expect(target.base.load(fromByteOffset: count, as: UInt16.self) == 0)
      }
    }
  }

  @Test(
    "blocks that are hashed at once have the checksums of one",
    arguments: [4, 52, 60, 64, 100, 4096, 32 << 10, (32 << 10) + 4, 100_000])
  func checksums(blockSize: Int) throws {
    var numbers = SeededNumbers(seed: 4)
    let contents = (0..<BlockDigests.atOnce).map { _ in
      (0..<blockSize).map { _ in UInt8.random(in: 0...255, using: &numbers) }
    }
    let digests = try BlockDigests(blockSize: blockSize)
    for count in [1, 2, 7, 8, 3] {
      let found = try digests.checksums(of: count) { block, column, piece in
        piece.copyBytes(from: contents[block][column..<(column + piece.count)])
      }
      let expected = try contents.prefix(count).map { bytes in
        BlockChecksum(
          hash: try ParityHash(of: bytes), check: bytes.withUnsafeBytes { Checksums.check($0) })
      }
      #expect(found == expected)
    }
  }

  @Test func doctorSaysWhyTheLibraryIsNotUsed() {
    let absent = OptionalLibrary(threshold: 0) { () throws(BatchError) in
      try GaloisLibrary(in: ["/var/empty"])
    }
    let shown = OpenedLibrary("libgf-complete", absent) { _ in ("1", "") }
    #expect(shown.version == nil && shown.note == "not installed (libgf-complete1)")
  }

  @Test("a window that moves has the CRC-32 of its bytes", arguments: [4, 5, 100, 4096])
  func rolling(width: Int) {
    var numbers = SeededNumbers(seed: 3)
    let bytes = (0..<(width + 300)).map { _ in UInt8.random(in: 0...255, using: &numbers) }
    bytes.withUnsafeBytes { raw in
      func check(_ start: Int) -> UInt32 {
        Checksums.check(UnsafeRawBufferPointer(rebasing: raw[start..<(start + width)]))
      }
      var rolling = RollingCheck(width: width)
      rolling.begin(check(0))
      var position = 0
      let moved = rolling.move(
        leaving: UnsafeRawBufferPointer(rebasing: raw[..<300]),
        entering: UnsafeRawBufferPointer(rebasing: raw[width...])
      ) { found in
        position += 1
        return found == check(position)
      }
      #expect(moved == 300 && position == 300)
    }
  }

  @Test func blocksHaveTheirSizeFromTheFiles() throws {
    var options = ParityOptions(.share(0.05))
    #expect(try ParityLayout([1], options).blockSize == 4096)
    #expect(try ParityLayout([1], options).recoveryCount == 1)
    let large = try ParityLayout([2 << 30], options)
    #expect(large.blockCount == 2000 && large.recoveryCount == 100 && large.blockSize % 4 == 0)
    #expect(try ParityLayout([UInt64](repeating: 5, count: 3000), options).blockCount == 3000)
    options.blockCount = 10
    #expect(try ParityLayout([100, 1], options) == ParityLayout([100, 1], options))
    #expect(try ParityLayout([100, 1], options).blockCount <= 10)
    options.blockSize = 6
    #expect(throws: BatchError.self) { try ParityLayout([100], options) }
    options.blockSize = 4
    #expect(throws: BatchError.self) { try ParityLayout([1 << 20], options) }
    #expect(throws: BatchError.self) { try ParityLayout([0], ParityOptions(.share(0.05))) }
    #expect(throws: BatchError.self) { try ParityLayout([9], ParityOptions(.blocks(70_000))) }
  }

  @Test func namesOfASetAreRecognized() {
    #expect(ParityNames.stem("a.tar.vol000+100.par2") == "a.tar")
    #expect(ParityNames.stem("a.tar.PAR2") == "a.tar" && ParityNames.stem("a.tar") == "a.tar")
    #expect(ParityNames.stem("a.volume.par2") == "a.volume" && ParityNames.stem(".par2") == ".par2")
    #expect(ParityNames.volume("a", first: 0, count: 100, most: 100) == "a.vol000+100.par2")
    let names: [PathBytes] = ["a.vol0+1.par2", "ab.par2", "a", "a.par2", "b.par2"]
    #expect(ParityNames.files(of: "a", in: names) == ["a.par2", "a.vol0+1.par2"])
  }
}
