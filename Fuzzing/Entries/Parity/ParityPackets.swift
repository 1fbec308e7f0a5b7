import BatchEngine

@testable import BatchCore

/// Bytes as a file of PAR2. A set that is accepted has names below its folder, and numbers that fit.
func fuzzParityPackets(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let file = UnsafeRawBufferPointer(start: start, count: count)
  var builder = ParitySetBuilder()
  let scanner = try? PacketScanner(size: UInt64(count)) { (room, offset) in
    let rest = file.dropFirst(Int(offset)).prefix(room.count)
    room.copyBytes(from: rest)
    return rest.count
  }
  guard var scanner else { return }
  try? scanner.scan { (found) throws(BatchError) in try builder.add(found, volume: 0) }
  guard let set = try? builder.set(at: "file") else { return }
  precondition(set.blockSize > 0 && set.blockSize % 4 == 0)
  var blocks = 0
  for member in set.members {
    precondition(member.firstBlock == blocks)
    blocks += member.blockCount
    precondition(!member.path.bytes.isEmpty && !member.path.wasAbsolute && !member.path.bytes.contains(0))
    precondition(
      !member.path.bytes.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) })
    precondition(member.checksums.map { $0.count == member.blockCount } ?? true)
    for block in member.blocks {
      precondition((1...set.blockSize).contains(set.length(of: block, in: member)))
    }
  }
  precondition(blocks == set.blockCount && blocks <= ParityPacket.mostBlocks)
  for block in set.recovery { precondition(block.offset + UInt64(set.blockSize) <= UInt64(count)) }
}
