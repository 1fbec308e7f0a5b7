import Glibc
import Testing

@testable import BatchEngine

@Suite struct FileRecordTests {
  private static func record(_ directory: DirectoryPath, _ name: [UInt8]) -> FileRecord {
    FileRecord(
      directory: directory, names: NameArena(Array("other".utf8) + [0] + name + [0]), nameOffset: 6,
      status: FileStatus(stat()), followsLinks: false)
  }

  @Test func joinsFolderAndName() {
    let record = Self.record(DirectoryPath(operand: "a/b"), [0x6b, 0xff])
    #expect(record.path.bytes == Array("a/b/".utf8) + [0x6b, 0xff])
    var bytes = Array("> ".utf8)
    record.appendPath(to: &bytes)
    #expect(bytes == Array("> a/b/".utf8) + [0x6b, 0xff])
  }

  @Test func showsAFileOperandAsItWasGiven() {
    let operand = PathBytes("a//file")
    let record = FileRecord(
      directory: DirectoryPath(ofFileOperand: operand), names: NameArena(name: operand.lastComponent),
      nameOffset: 0, status: FileStatus(stat()), followsLinks: true)
    #expect(record.path == operand)
    #expect(record.withName { strlen($0) } == 4)
  }
}
