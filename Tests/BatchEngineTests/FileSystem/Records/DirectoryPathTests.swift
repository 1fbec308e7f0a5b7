import Testing

@testable import BatchEngine

@Suite struct DirectoryPathTests {
  @Test(arguments: [
    ("t", "t/", "t"), ("t/", "t/", "t"), ("t//", "t//", "t"), ("/", "/", "/"), (".", "./", "."),
    ("//", "//", "/"),
  ])
  func keepsAnOperandAsItWasGiven(operand: String, prefix: String, shown: String) {
    let directory = DirectoryPath(operand: PathBytes(operand))
    #expect(directory.prefix == PathBytes(prefix))
    #expect(directory.shownPath == PathBytes(shown))
    #expect(directory.openPath == PathBytes(shown))
    #expect(directory.relativePrefix.isEmpty)
    #expect(directory.depth == 0)
  }

  @Test(arguments: [("file", "", "."), ("a/file", "a/", "a"), ("/file", "/", "/"), ("a//file", "a//", "a")])
  func isTheFolderOfAFileOperand(operand: String, prefix: String, open: String) {
    let directory = DirectoryPath(ofFileOperand: PathBytes(operand))
    #expect(directory.prefix == PathBytes(prefix))
    #expect(directory.openPath == PathBytes(open))
  }

  @Test func distinguishesTheOperandFromPathsBelowIt() {
    let names = NameArena(name: [0xff, 0x62])
    let entry = DirectoryEntry(nameOffset: 0, kind: .directory, inode: 7)
    let directory = DirectoryPath(operand: "t//").subdirectory(of: entry, names: names, device: 3)
    #expect(directory.prefix.bytes == Array("t//".utf8) + [0xff, 0x62, 0x2f])
    #expect(Array(directory.relativePrefix) == [0xff, 0x62, 0x2f])
    #expect(directory.identity == FileIdentity(device: 3, inode: 7))
    #expect(directory.depth == 1)
    #expect(
      directory.path(of: entry, names: names).bytes == Array("t//".utf8) + [0xff, 0x62, 0x2f, 0xff, 0x62])
  }

  @Test func takesTheIdentityThatWasOpened() {
    let directory = DirectoryPath(operand: "t")
    let identity = FileIdentity(device: 1, inode: 2)
    let identified = directory.identified(as: identity)
    #expect(identified.identity == identity)
    #expect(identified.prefix == directory.prefix)
    #expect(identified.identified(as: identity) === identified)
  }
}
