import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// What packets say is checked before it is used.
@Suite struct ParitySetTests {
  /// The packets of a set of one file.
  private struct Packets {
    var name: [UInt8] = Array("file".utf8)
    var size: UInt64 = 10
    var blockSize = 4
    var checksumCount: Int?
    var hash: [UInt8] = [1]
    var count = 1

    func bytes(forgedID: Bool = false, forgedSet: Bool = false) throws -> [UInt8] {
      let beginning = try ParityHash(of: [0])
      let id = forgedID ? beginning : try ParityFile.id(beginning: beginning, size: size, name: name)
      let file = ParityFile(
        id: id, hash: try ParityHash(of: hash), beginning: beginning, size: size, name: PathBytes(name))
      let main = ParityPacket.mainBody(blockSize: blockSize, files: Array(repeating: id, count: count))
      let set = forgedSet ? beginning : try ParityHash(of: main)
      let sums = (0..<(checksumCount ?? 3)).map { BlockChecksum(hash: beginning, check: UInt32($0)) }
      return try [
        ParityPacket(kind: .main, set: set, body: main),
        ParityPacket(kind: .file, set: set, body: ParityPacket.fileBody(file)),
        ParityPacket(kind: .checksums, set: set, body: ParityPacket.checksumBody(id, sums)),
        ParityPacket(kind: .recovery, set: set, body: UInt32(0).littleEndianBytes + [1, 2, 3, 4]),
      ].flatMap { try $0.bytes() }
    }
  }

  private func set(_ bytes: [UInt8]) throws -> ParitySet {
    var builder = ParitySetBuilder()
    var scanner = try PacketScanner(size: UInt64(bytes.count)) { (room, offset) in
      let rest = bytes.dropFirst(Int(offset)).prefix(room.count)
      room.copyBytes(from: rest)
      return rest.count
    }
    try scanner.scan { (found) throws(BatchError) in try builder.add(found, volume: 0) }
    return try builder.set(at: "x")
  }

  @Test func aSetIsRead() throws {
    let found = try set(Packets().bytes())
    #expect(found.members.count == 1 && found.blockCount == 3 && found.recovery.count == 1)
    #expect(found.members.first?.file.name == "file" && found.blockSize == 4)
    // Bytes before, between and after packets are no harm, and neither are equal packets.
    let bytes = try Packets().bytes()
    #expect(try set(Array("PAR2\0PKT junk".utf8) + bytes + [0] + bytes + [1, 2]).recovery.count == 1)
  }

  @Test(
    "a set that is not valid is refused",
    arguments: [
      Packets(name: Array("../up".utf8)), Packets(name: Array("/etc/passwd".utf8)),
      Packets(name: Array("a/../b".utf8)),
      Packets(name: []), Packets(name: Array("a\0b".utf8)), Packets(size: .max), Packets(size: 1 << 40),
      Packets(blockSize: 0), Packets(blockSize: 6), Packets(count: 2),
    ])
  private func refused(packets: Packets) throws {
    #expect(throws: BatchError.self) { try set(packets.bytes()) }
  }

  @Test func identitiesAreComputedAgain() throws {
    #expect(throws: BatchError.self) { try set(Packets().bytes(forgedID: true)) }
    #expect(throws: BatchError.self) { try set(Packets().bytes(forgedSet: true)) }
  }

  @Test func contradictionsAreRefused() throws {
    // The identity of a file does not cover the MD5 of all of it.
    let other = try Packets(hash: [2]).bytes()
    #expect(throws: BatchError.self) { try set(Packets().bytes() + other) }
    #expect(throws: BatchError.self) { try set(Packets().bytes() + Packets(checksumCount: 2).bytes()) }
  }

  @Test func aListOfTheWrongLengthIsNotUsed() throws {
    #expect(try set(Packets(checksumCount: 2).bytes()).members.first?.checksums == nil)
  }

  @Test func damagedPacketsArePassedOver() throws {
    let bytes = try Packets().bytes()
    var numbers = SeededNumbers(seed: 4)
    for _ in 0..<300 {
      var damaged = bytes
      damaged[Int.random(in: damaged.indices, using: &numbers)] ^= UInt8.random(in: 1...255, using: &numbers)
      // A second copy makes up for it.
      #expect(try set(damaged + bytes).blockCount == 3)
      damaged.removeSubrange(0..<Int.random(in: 1...damaged.count, using: &numbers))
      #expect(try set(damaged + bytes).recovery.count == 1)
    }
  }
}
