import BatchEngine

/// How much recovery data are made, and in which form.
package struct ParityOptions: Sendable, Hashable {
  package enum Amount: Sendable, Hashable {
    /// A share of the blocks: 0.05 is 5 %; more than 1 is allowed.
    case share(Double)
    case blocks(Int)
  }

  package var amount: Amount
  /// Bytes of a block, a multiple of 4; nil chooses it by the sizes of the files.
  package var blockSize: Int?
  /// The most blocks; nil for the default.
  package var blockCount: Int?
  /// The most blocks without ``blockCount``. Fewer cost less time, and each damaged place costs more.
  package var usualBlockCount = 2_000
  /// Among how many files the recovery blocks are divided.
  package var volumeCount = 1

  /// Used if the user names no amount.
  package static let usualShare = 0.05

  package init(_ amount: Amount) { self.amount = amount }
}

/// The size of blocks, and their number.
package struct ParityLayout: Sendable, Hashable {
  package let blockSize: Int
  package let blockCount: Int
  package let recoveryCount: Int

  static let leastBlockSize = 4 << 10

  /// - Parameter sizes: of the files, in bytes.
  /// - Throws: `invalid` for numbers that the format does not allow, or if there is nothing to protect.
  package init(_ sizes: [UInt64], _ options: ParityOptions) throws(BatchError) {
    let fewest = sizes.count { $0 > 0 }
    guard fewest > 0 else { throw BatchError(.invalid, "only empty files: there is nothing to protect") }
    guard fewest <= ParityPacket.mostBlocks else {
      throw BatchError(.invalid, "more than 32,768 files, each of which needs a block")
    }
    if let given = options.blockSize {
      guard given > 0, given % 4 == 0 else {
        throw BatchError(.invalid, "the size of blocks must be a multiple of 4")
      }
      guard Self.count(sizes, UInt64(given)) != nil else {
        throw BatchError(.invalid, "blocks of \(given) bytes are too small: there would be more than 32,768")
      }
      blockSize = given
    } else {
      if let wanted = options.blockCount, wanted < fewest {
        throw BatchError(.invalid, "fewer blocks than files: each file needs a block")
      }
      let most = min(ParityPacket.mostBlocks, max(options.blockCount ?? options.usualBlockCount, fewest))
      let longest = (sizes.max() ?? 0) / 4 + 1
      // The smallest size with which there are few enough blocks.
      var (low, high) = (UInt64(1), longest)
      while low < high {
        let middle = low + (high - low) / 2
        if let count = Self.count(sizes, middle * 4), count <= most {
          high = middle
        } else {
          low = middle + 1
        }
      }
      let least = options.blockCount == nil ? Self.leastBlockSize : 4
      guard let size = Int(exactly: low * 4) else { throw BatchError(.invalid, "a file is too large") }
      blockSize = max(least, size)
    }
    blockCount = Self.count(sizes, UInt64(blockSize)) ?? 0
    switch options.amount {
    case .blocks(let count): recoveryCount = count
    case .share(let share): recoveryCount = max(1, Int(min(1e9, (share * Double(blockCount)).rounded(.up))))
    }
    guard (1...ParityPacket.mostRecoveryBlocks).contains(recoveryCount) else {
      throw BatchError(.invalid, "\(recoveryCount) recovery blocks: there must be 1 to 65,535")
    }
  }

  /// The number of blocks; nil for more than the format allows.
  private static func count(_ sizes: [UInt64], _ blockSize: UInt64) -> Int? {
    var sum: UInt64 = 0
    for size in sizes {
      sum += min(size / blockSize + (size % blockSize == 0 ? 0 : 1), UInt64(ParityPacket.mostBlocks) + 1)
      if sum > UInt64(ParityPacket.mostBlocks) { return nil }
    }
    return Int(sum)
  }
}
