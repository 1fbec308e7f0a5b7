import BatchEngine

/// What the packets of one set say, as far as they agree with each other.
package struct ParitySet: Sendable {
  /// A file of the set.
  struct Member: Sendable {
    let file: ParityFile
    /// The name as a path below the folder of the set.
    let path: RelativePath
    /// The number of its first block in the set.
    let firstBlock: Int
    let blockCount: Int
    /// Nil if no packet has them.
    let checksums: [BlockChecksum]?

    var blocks: Range<Int> { firstBlock..<(firstBlock + blockCount) }
  }

  /// A recovery block, and where it is.
  struct Recovery: Sendable {
    let exponent: UInt32
    /// The index of its file among those that were scanned.
    let volume: Int
    let offset: UInt64
  }

  let id: ParityHash
  package let blockSize: Int
  let members: [Member]
  package let blockCount: Int
  let recovery: [Recovery]

  /// How many bytes of a block are content, and no zeros that fill it up.
  func length(of block: Int, in member: Member) -> Int {
    let start = UInt64(block - member.firstBlock) * UInt64(blockSize)
    return Int(min(UInt64(blockSize), member.file.size - min(start, member.file.size)))
  }
}

/// Collects the packets of a set.
struct ParitySetBuilder {
  private struct Body {
    /// Nil for packets that contradict each other.
    var bytes: [UInt8]?
  }

  private struct Place {
    let block: PacketScanner.Recovery
    let volume: Int
    /// Whether another block has its number. Then none of them is trusted.
    var isContradicted = false
  }

  private var mains: [ParityHash: [UInt8]] = [:]
  private var files: [ParityHash: [ParityHash: Body]] = [:]
  private var checksums: [ParityHash: [ParityHash: Body]] = [:]
  private var recovery: [ParityHash: [UInt32: Place]] = [:]
  /// Sets in the order in which their main packets were found.
  private var order: [ParityHash] = []
  /// What is kept is limited to this many bytes, whatever the files hold.
  private var room = 64 << 20

  mutating func add(_ found: PacketScanner.Found, volume: Int) throws(BatchError) {
    switch found {
    case .recovery(let block, let set):
      if let known = recovery[set]?[block.exponent] {
        if known.block.packet != block.packet { recovery[set]?[block.exponent]?.isContradicted = true }
      } else if recovery[set]?.count ?? 0 < ParityPacket.mostRecoveryBlocks, takes(64) {
        recovery[set, default: [:]][block.exponent] = Place(block: block, volume: volume)
      }
    case .packet(let packet):
      switch packet.kind {
      case .main:
        // The identity of a set is the MD5 of this body.
        guard mains[packet.set] == nil, try ParityHash(of: packet.body) == packet.set,
          takes(packet.body.count)
        else { return }
        mains[packet.set] = packet.body
        order.append(packet.set)
      case .file: room -= Self.add(packet, to: &files, room: room)
      case .checksums: room -= Self.add(packet, to: &checksums, room: room)
      case .recovery, .creator: break
      }
    }
  }

  /// - Returns: how many bytes are kept of it.
  private static func add(
    _ packet: ParityPacket, to bodies: inout [ParityHash: [ParityHash: Body]], room: Int
  ) -> Int {
    guard packet.body.count >= 16 else { return 0 }
    let id = packet.body.withUnsafeBytes { ParityHash(UnsafeRawBufferPointer(rebasing: $0[..<16])) }
    if let known = bodies[packet.set]?[id] {
      if known.bytes != packet.body { bodies[packet.set]?[id] = Body(bytes: nil) }
      return 0
    }
    guard packet.body.count <= room else { return 0 }
    bodies[packet.set, default: [:]][id] = Body(bytes: packet.body)
    return packet.body.count
  }

  private mutating func takes(_ count: Int) -> Bool {
    guard count <= room else { return false }
    room -= count
    return true
  }

  /// The first set that was found.
  ///
  /// - Parameter path: of the files, for messages.
  /// - Throws: `malformed` if there is none, or if its packets are not valid or contradict each other; `invalid` for names that lead
  ///   out of the folder.
  func set(at path: PathBytes) throws(BatchError) -> ParitySet { try set(order.first, path) }

  /// The valid ones of the first sets that were found, in their order.
  ///
  /// - Throws: as ``set(at:)``, if none is valid.
  func sets(at path: PathBytes) throws(BatchError) -> [ParitySet] {
    let found = order.prefix(Self.mostSets).compactMap { try? set($0, path) }
    return found.isEmpty ? [try set(at: path)] : found
  }

  private static let mostSets = 16

  private func set(_ id: ParityHash?, _ path: PathBytes) throws(BatchError) -> ParitySet {
    guard let id, let main = mains[id] else {
      throw BatchError(.malformed, "no whole main packet of PAR2 was found", path: path)
    }
    let ids = try Self.files(inMain: main, path)
    let blockSize = main.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    guard blockSize > 0, blockSize % 4 == 0, let size = Int(exactly: blockSize), size <= .max / 2 else {
      throw BatchError(.malformed, "the recovery data name a size of blocks that is not valid", path: path)
    }
    var members: [ParitySet.Member] = []
    var names: Set<[UInt8]> = []
    var first = 0
    for file in ids {
      let member = try member(file, of: id, blockSize: blockSize, first: first, path)
      guard names.insert(member.path.bytes).inserted else {
        throw BatchError(.malformed, "two files of the recovery data have one name", path: member.file.name)
      }
      first += member.blockCount
      guard first <= ParityPacket.mostBlocks else {
        throw BatchError(.malformed, "the recovery data name more than 32,768 blocks", path: path)
      }
      members.append(member)
    }
    let blocks = (recovery[id] ?? [:]).values.filter {
      !$0.isContradicted && $0.block.size == blockSize && $0.block.exponent < UInt32(GaloisField.order)
    }.map {
      ParitySet.Recovery(exponent: $0.block.exponent, volume: $0.volume, offset: $0.block.offset)
    }
    return ParitySet(
      id: id, blockSize: size, members: members, blockCount: first,
      recovery: blocks.sorted { $0.exponent < $1.exponent })
  }

  /// Sorted, without duplicates.
  private static func files(inMain main: [UInt8], _ path: PathBytes) throws(BatchError) -> [ParityHash] {
    let invalid = BatchError(.malformed, "the main packet of the recovery data is not valid", path: path)
    guard main.count >= 12, (main.count - 12) % 16 == 0 else { throw invalid }
    return try main.withUnsafeBytes { (raw) -> Result<[ParityHash], BatchError> in
      let count = Int(UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
      guard count <= (raw.count - 12) / 16, count <= ParityPacket.mostBlocks else { return .failure(invalid) }
      let ids = (0..<count).map {
        ParityHash(UnsafeRawBufferPointer(rebasing: raw[(12 + 16 * $0)..<(28 + 16 * $0)]))
      }
      guard zip(ids, ids.dropFirst()).allSatisfy({ $0 < $1 }) else { return .failure(invalid) }
      return .success(ids)
    }.get()
  }

  private func member(
    _ id: ParityHash, of set: ParityHash, blockSize: UInt64, first: Int, _ path: PathBytes
  ) throws(BatchError) -> ParitySet.Member {
    guard let found = files[set]?[id] else {
      throw BatchError(.malformed, "the description of a file is missing in the recovery data", path: path)
    }
    guard let body = found.bytes else {
      throw BatchError(
        .malformed, "two descriptions of a file in the recovery data contradict each other", path: path)
    }
    guard body.count > 56 else {
      throw BatchError(.malformed, "the description of a file in the recovery data is not valid", path: path)
    }
    var name = body[56...]
    while name.last == 0 { name.removeLast() }
    let file = body.withUnsafeBytes { raw in
      func hash(_ start: Int) -> ParityHash {
        ParityHash(UnsafeRawBufferPointer(rebasing: raw[start..<(start + 16)]))
      }
      return ParityFile(
        id: id, hash: hash(16), beginning: hash(32),
        size: UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: 48, as: UInt64.self)),
        name: PathBytes(name))
    }
    guard try ParityFile.id(beginning: file.beginning, size: file.size, name: Array(name)) == id,
      file.size <= UInt64(Int64.max), let count = file.blockCount(of: blockSize),
      count <= ParityPacket.mostBlocks
    else {
      throw BatchError(.malformed, "the description of a file in the recovery data is not valid", path: path)
    }
    let relative = try RelativePath(file.name)
    guard !relative.wasAbsolute, !relative.bytes.isEmpty, relative.bytes.count <= 64 << 10 else {
      throw BatchError(.invalid, "refused: a name in the recovery data leads elsewhere", path: file.name)
    }
    return ParitySet.Member(
      file: file, path: relative, firstBlock: first, blockCount: count,
      checksums: try checksums(of: id, in: set, count, path))
  }

  private func checksums(
    of id: ParityHash, in set: ParityHash, _ count: Int, _ path: PathBytes
  ) throws(BatchError) -> [BlockChecksum]? {
    guard let found = checksums[set]?[id] else { return count == 0 ? [] : nil }
    guard let body = found.bytes else {
      throw BatchError(
        .malformed, "two lists of checksums in the recovery data contradict each other", path: path)
    }
    guard body.count == 16 + 20 * count else { return nil }
    return body.withUnsafeBytes { raw in
      (0..<count).map { index in
        let start = 16 + 20 * index
        return BlockChecksum(
          hash: ParityHash(UnsafeRawBufferPointer(rebasing: raw[start..<(start + 16)])),
          check: UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: start + 16, as: UInt32.self)))
      }
    }
  }
}
