import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

@Suite("The name of an output")
struct OutputNamingTests {
  private static func adding(_ suffix: PathBytes, in directory: PathBytes? = nil) -> OutputNaming {
    OutputNaming(.adding(suffix: suffix), directory: directory)
  }

  @Test(
    "is the name of the source with the suffix, in its folder",
    arguments: [
      ("a", "a.gz"), ("d/a", "d/a.gz"), ("/a", "/a.gz"), ("d//.a", "d//.a.gz"), ("a.gz", "a.gz.gz"),
    ])
  func adds(source: PathBytes, target: PathBytes) {
    #expect(Self.adding(".gz").target(of: source) == target)
  }

  @Test(
    "is mirrored below a folder, and never leads out of it",
    arguments: [
      ("a", "o/a.gz"), ("d/a", "o/d/a.gz"), ("/d/a", "o/d/a.gz"), ("./d/./a", "o/d/a.gz"),
      ("../../a", "o/a.gz"), ("d/../../e/a", "o/d/e/a.gz"), ("d//a", "o/d/a.gz"), ("...", "o/....gz"),
    ])
  func mirrors(source: PathBytes, target: PathBytes) {
    #expect(Self.adding(".gz", in: "o").target(of: source) == target)
    #expect(Self.adding(".gz", in: "o/").target(of: source) == target)
  }

  @Test("keeps bytes that are not UTF-8")
  func bytes() {
    let name = PathBytes([0xFF, 0x0A, 0x2F, 0xC3])
    #expect(Self.adding(PathBytes([0xFE])).target(of: name) == PathBytes([0xFF, 0x0A, 0x2F, 0xC3, 0xFE]))
    let packed = PathBytes(name.bytes + Array(".tgz".utf8))
    let suffixes = OutputNaming.Direction.removing([KnownSuffix(".tgz", replacement: ".tar")])
    let target = OutputNaming(suffixes, directory: nil).target(of: packed)
    #expect(target == PathBytes(name.bytes + Array(".tar".utf8)))
  }

  @Test("never leads out of the output folder, for any path of the source")
  func stays() {
    var numbers = SeededNumbers(seed: 7)
    let letters = Array("ab./\u{fc}".utf8)
    for _ in 0..<2000 {
      let source = PathBytes(numbers.bytes(1...12, of: letters) + [0x78])
      let mirrored = Self.adding(".gz", in: "o").target(of: source)
      #expect(mirrored?.bytes.starts(with: "o/".utf8) == true)
      #expect(mirrored?.bytes.split(separator: 0x2F).contains { $0.elementsEqual("..".utf8) } == false)
    }
  }

  @Test("of a copy may be that of another output when the file without the suffix is beside the source")
  func rivals() throws {
    let fixture = try TreeFixture()
    for name in ["a", "a.gz", "b.gz", "c.gz", "d.gz", ".gz"] as [PathBytes] { try fixture.file(name, "x") }
    try fixture.folder("c")
    try fixture.symbolicLink("d", to: fixture.path("a"))
    func hasRival(_ name: PathBytes, _ naming: OutputNaming, followsLinks: Bool = false) throws -> Bool {
      let record = try fixture.record(name)
      let found = FileRecord(
        directory: record.directory, names: NameArena(name: record.path.lastComponent), nameOffset: 0,
        status: record.status, followsLinks: followsLinks)
      return naming.hasRival(copyOf: found, calls: LinuxCalls())
    }
    let naming = Self.adding(".gz", in: "o")
    let names = ["a", "a.gz", "b.gz", "c.gz", "d.gz", ".gz"]
    let found = try names.filter { try hasRival(PathBytes($0), naming) }
    #expect(found == ["a.gz"])
    #expect(try hasRival("d.gz", naming, followsLinks: true))
    #expect(try !hasRival("a.gz", Self.adding(".zst", in: "o")))
    let removing = OutputNaming.Direction.removing([KnownSuffix(".gz", replacement: "")])
    #expect(try !hasRival("a.gz", OutputNaming(removing, directory: "o")))
  }

  @Test("marks a file as an earlier output when the source next to it has the same time")
  func outputs() throws {
    let fixture = try TreeFixture()
    for name in ["a", "a.gz", "b.gz", "c", "c.gz", "d.gz"] as [PathBytes] {
      try fixture.file(name, "x")
      try fixture.setModified(name, seconds: name == "c" ? 2000 : 1000)
    }
    try fixture.symbolicLink("d", to: fixture.path("a"))
    for (name, isOutput) in [("a.gz", true), ("a", false), ("b.gz", false), ("c.gz", false), ("d.gz", false)]
    {
      let record = try fixture.record(PathBytes(name))
      #expect(Self.adding(".gz").isOutput(record, calls: LinuxCalls()) == isOutput, "\(name)")
      #expect(!Self.adding(".gz", in: "o").isOutput(record, calls: LinuxCalls()))
      #expect(!Self.adding(".zst").isOutput(record, calls: LinuxCalls()))
    }
  }
}
