import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The folder that an archive is unpacked into")
struct ContainedFolderTests {
  private let temporary: TreeFixture
  private let folder: ContainedFolder

  init() throws {
    temporary = try TreeFixture()
    try temporary.folder("in/real")
    folder = try ContainedFolder(temporary.path("in"), opener: RunContext().folders)
  }

  private func opens(_ path: String, creating: Bool = false) -> Bool {
    (try? folder.open(Array(path.utf8)[...], creating: creating)) != nil
  }

  @Test("opens and makes folders below it, and remembers those that it made")
  func making() throws {
    #expect(opens("real") && opens("") && !opens("new/deep"))
    #expect(opens("new/deep", creating: true) && opens("new/deep"))
    #expect(opens("real/more", creating: true) && opens("new", creating: true))
    let made = folder.madeFolders
    #expect(Set(made.nodes.map { PathBytes(made.tree.path(of: $0)) }) == ["new", "new/deep", "real/more"])
  }

  @Test(
    "does not follow links, and opens no file as a folder",
    arguments: ["..", ".", "real", "/tmp", "../outside"])
  func links(target: String) throws {
    try temporary.folder("outside")
    let link = temporary.path("in/link")
    #expect(link.withCString { symlink(target, $0) } == 0)
    #expect(!opens("link") && !opens("link/x", creating: true) && !opens("link/..", creating: true))
    try temporary.file("in/file", "x")
    #expect(!opens("file") && !opens("file/x", creating: true))
    #expect(temporary.names() == ["in", "outside"])
  }

  @Test("opens paths that are longer than the kernel accepts in one call")
  func long() throws {
    let path = Array(repeating: String(repeating: "n", count: 200), count: 30).joined(separator: "/")
    #expect(opens(path, creating: true) && opens(path))
    #expect(folder.madeFolders.nodes.count == 30)
    #expect(opens(path + "/one/more", creating: true))
    #expect(folder.madeFolders.nodes.count == 32)
  }

  @Test("does not follow a link at the end of such a long path")
  func linksFarDown() throws {
    let path = Array(repeating: String(repeating: "n", count: 200), count: 30).joined(separator: "/")
    let last = try folder.open(Array(path.utf8)[...], creating: true)
    #expect(symlinkat("/tmp", last.raw, "link") == 0)
    for end in ["link", "link/x", "link/" + path] {
      #expect(!opens(path + "/" + end) && !opens(path + "/" + end, creating: true))
    }
  }
}
