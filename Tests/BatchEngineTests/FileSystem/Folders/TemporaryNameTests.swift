import Testing

@testable import BatchEngine

@Suite struct TemporaryNameTests {
  @Test("names are short, hidden and unique")
  func unique() {
    let names = (0..<1_000).map { _ in TemporaryName().bytes }
    #expect(Set(names).count == names.count)
    #expect(names.allSatisfy { $0.count == 56 && $0.starts(with: ".batchproc-".utf8) })
  }

  @Test(
    "a temporary name is recognized and gives the boot in which it was made",
    arguments: [0, 1, 0xdead_beef, .max] as [UInt32])
  func recognized(boot: UInt32) throws {
    let name = TemporaryName(boot: boot)
    let again = try #require(TemporaryName(name.bytes))
    #expect(again == name)
    #expect(again.boot == boot)
  }

  @Test(
    "names that other programs made are not recognized",
    arguments: [
      "", ".batchproc-.tmp", "o.tar.tmp", ".batchproc-0000000-00000000000000000000000000000000.tmp",
      "batchproc-00000000-00000000000000000000000000000000.tmp",
      ".batchproc-00000000-00000000000000000000000000000000.tm",
      ".batchproc-0000000g-00000000000000000000000000000000.tmp",
      ".batchproc-00000000-0000000000000000000000000000000.tmp",
      ".batchproc-00000000-0000000000000000000000000000000A.tmp",
      ".batchproc-00000000-0000000000000000-000000000000000.tmp",
      ".batchproc-+0000000-00000000000000000000000000000000.tmp",
    ])
  func foreign(name: String) {
    #expect(TemporaryName(name.utf8) == nil)
  }
}
