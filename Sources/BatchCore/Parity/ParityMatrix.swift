import BatchEngine

/// Solves the equations of recovery blocks for the missing blocks.
struct ParityMatrix {
  /// The recovery blocks that are used, in the order of the columns after those of the known blocks.
  let recovery: [ParitySet.Recovery]
  /// The factors of the known blocks and of the recovery blocks in each missing block.
  let factors: ParityFactors

  /// - Parameters:
  ///   - missing: numbers of blocks.
  ///   - known: numbers of blocks, in the order of the columns.
  ///   - memory: bytes that the matrix may take.
  /// - Throws: `malformed` if the recovery blocks are too few, or do not determine the missing ones; `exhausted` if the matrix needs
  ///   more memory.
  init(
    missing: [Int], known: [Int], _ set: ParitySet, memory: Int, check: () throws(BatchError) -> Void
  ) throws(BatchError) {
    let count = missing.count
    // Of each row: the missing blocks, the known ones, and the recovery blocks.
    let stride = (count + known.count + count + 31) / 32 * 32
    guard count == 0 || stride <= memory / 2 / count else {
      throw BatchError(.exhausted, "too little memory to solve \(count) equations", remedy: .raiseMemory)
    }
    let matrix = AlignedRegion(byteCount: max(1, 2 * stride * count))
    let constants = GaloisField.constants(set.blockCount)
    let field = GaloisField.shared
    let product = try RegionProduct()
    func address(_ row: Int) -> UnsafeMutableRawPointer { matrix.base + 2 * row * stride }
    func element(_ row: Int, _ column: Int) -> UInt16 { product.element(column, of: address(row)) }
    let spare = AlignedRegion(byteCount: 2 * stride)
    func scale(_ row: Int, by factor: UInt16) {
      spare.bytes.initializeMemory(as: UInt8.self, repeating: 0)
      product.add(address(row), times: factor, to: spare.base, count: 2 * stride)
      address(row).copyMemory(from: spare.base, byteCount: 2 * stride)
    }
    var used: [ParitySet.Recovery] = []
    /// The row that has the only element of a column.
    var pivots = [Int?](repeating: nil, count: count)
    for candidate in set.recovery where used.count < count {
      try check()
      let row = used.count
      UnsafeMutableRawBufferPointer(start: address(row), count: 2 * stride)
        .initializeMemory(as: UInt8.self, repeating: 0)
      let exponent = UInt16(truncatingIfNeeded: candidate.exponent)
      for (column, block) in (missing + known).enumerated() {
        product.set(field.power(constants[block], exponent), column, of: address(row))
      }
      product.set(1, count + known.count + row, of: address(row))
      for (column, pivot) in pivots.enumerated() {
        guard let pivot else { continue }
        product.add(address(pivot), times: element(row, column), to: address(row), count: 2 * stride)
      }
      // A row that says nothing new is left out, and another recovery block takes its place.
      guard let column = (0..<count).first(where: { pivots[$0] == nil && element(row, $0) != 0 }) else {
        continue
      }
      scale(row, by: field.inverse(element(row, column)))
      for other in 0..<row {
        product.add(address(row), times: element(other, column), to: address(other), count: 2 * stride)
      }
      pivots[column] = row
      used.append(candidate)
    }
    guard used.count == count else {
      throw BatchError(.malformed, "the recovery blocks do not determine the missing blocks")
    }
    recovery = used
    // The rows in the order of the missing blocks, without their columns.
    let width = known.count + count
    let factors = AlignedRegion(byteCount: max(1, 2 * width * count))
    for (column, pivot) in pivots.enumerated() {
      guard let pivot else { continue }
      product.restore(address(pivot), count: 2 * stride)
      (factors.base + 2 * width * column).copyMemory(from: address(pivot) + 2 * count, byteCount: 2 * width)
    }
    self.factors = ParityFactors(matrix: factors, stride: width)
  }
}
