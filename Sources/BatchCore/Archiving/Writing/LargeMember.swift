import BatchEngine

/// A file that spans frames: one for its header, and the following ones for its content, which all lanes make.
package final class LargeMember: Sendable {
  let record: FileRecord
  /// The data ranges of the file; nil if it has no holes.
  let dataMap: [Range<UInt64>]?
  let blockSize: Int
  /// Bytes of the file in the archive.
  let storedSize: UInt64
  let blockCount: Int
  /// The path of the member if it has only a part of the file's data, the data ranges; nil for a whole file with its own path.
  let partPath: PathBytes?

  var isPart: Bool { partPath != nil }

  init(_ record: FileRecord, dataMap: [Range<UInt64>]?, blockSize: Int, partPath: PathBytes? = nil) {
    self.record = record
    self.partPath = partPath
    self.dataMap = dataMap
    self.blockSize = blockSize
    let size = UInt64(clamping: record.status.size)
    storedSize = dataMap.map { $0.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } } ?? size
    let (whole, rest) = storedSize.quotientAndRemainder(dividingBy: UInt64(blockSize))
    blockCount = Int(clamping: rest == 0 ? whole : whole + 1)
  }

  /// The file's size, holes included.
  var size: UInt64 { UInt64(clamping: record.status.size) }

  /// The ranges of the file that form a block, in order.
  func ranges(ofBlock index: Int) -> [Range<UInt64>] {
    var skipped = UInt64(clamping: index) * UInt64(blockSize)
    var wanted = min(UInt64(blockSize), storedSize - min(skipped, storedSize))
    var ranges = [Range<UInt64>]()
    for range in dataMap ?? [0..<size] where wanted > 0 {
      let length = range.upperBound - range.lowerBound
      guard skipped < length else {
        skipped -= length
        continue
      }
      let count = min(length - skipped, wanted)
      ranges.append((range.lowerBound + skipped)..<(range.lowerBound + skipped + count))
      wanted -= count
      skipped = 0
    }
    return ranges
  }
}
