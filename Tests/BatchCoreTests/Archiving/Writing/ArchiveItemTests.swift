import Glibc
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ArchiveItemTests {
  private func item(size: Int64, blocks: Int64, mode: mode_t = S_IFREG | 0o644, ranges: Int = 0)
    -> ArchiveItem
  {
    var raw = stat()
    raw.st_mode = mode
    raw.st_size = off_t(size)
    raw.st_blocks = blkcnt_t(blocks)
    let record = FileRecord(
      directory: DirectoryPath(operand: "t"), names: NameArena(name: Array("f".utf8)), nameOffset: 0,
      status: FileStatus(raw), followsLinks: false)
    let map = (0..<ranges).map { UInt64($0)..<(UInt64($0) + 1) }
    return .member(record, dataMap: ranges == 0 ? nil : map)
  }

  @Test func expectsAtLeastTheSizeOfASegment() throws {
    let headers = 3 * TarBlock.size
    #expect(item(size: 1000, blocks: 8).plainSize >= headers + 1024)
    #expect(item(size: 0, blocks: 0).plainSize >= headers)
    #expect(item(size: 4096, blocks: 0, mode: S_IFDIR | 0o755).plainSize >= headers)
    #expect(item(size: 4096, blocks: 8, mode: S_IFDIR | 0o755).plainSize < headers + 4096)
  }

  @Test func expectsLittleOfHoles() {
    #expect(item(size: 1 << 40, blocks: 8).plainSize < 16 << 10)
    #expect(item(size: 1 << 40, blocks: 8, ranges: 1000).plainSize > 16 << 10)
  }

  @Test(arguments: [Int64.min, -1, 0, 1 << 54, .max]) func takesAnySize(_ number: Int64) {
    for blocks in [Int64.min, -1, 0, 1 << 54, .max] {
      let size = item(size: number, blocks: blocks).plainSize
      #expect(size > 0 && size < 1 << 30, "\(number), \(blocks)")
    }
  }
}
