import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

@Suite("Claims of outputs")
struct OutputClaimsTests {
  private static let removing = OutputNaming.Direction.removing([
    KnownSuffix(".tgz", replacement: ".tar"), KnownSuffix(".gzip", replacement: ""),
    KnownSuffix(".gz", replacement: ""), KnownSuffix(".xz", replacement: ""),
    KnownSuffix(".zst", replacement: ""),
  ])

  private let fixture: TreeFixture
  private let one: FileRecord
  private let other: FileRecord

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("a", "1")
    try fixture.file("d/a", "2")
    try fixture.symbolicLink("way", to: "d")
    one = try fixture.record("a")
    other = try fixture.record("d/a")
  }

  private static func word(_ answer: OutputClaims.Answer) -> String {
    switch answer {
    case .granted: "granted"
    case .repeated: "repeated"
    case .refused(let error): "refused \(error.code)"
    }
  }

  @Test("give an output to the first source, also when it asks again, and to no other source")
  func answers() {
    var claims = OutputClaims()
    #expect(Self.word(claims.claim("o/a", for: one)) == "granted")
    #expect(Self.word(claims.claim("o/a", for: one)) == "repeated")
    #expect(Self.word(claims.claim("o/a", for: other)) == "refused invalid")
    #expect(Self.word(claims.claim("o/a", for: one)) == "repeated")
    #expect(Self.word(claims.claim("o/b", for: other)) == "granted")
    #expect(claims.contain("o/a") && claims.contain("o/b") && !claims.contain("o/c"))
  }

  @Test("recognize a folder by each path to it, also before it exists")
  func ways() {
    let ways: [[PathBytes]] = [
      ["d/x", "way/x", "d/../way/x", "./d//x", "way/./x"], ["d/new/x", "way/new/x", "way//new/x"],
      ["d/new/er/x", "way/new/er/x"], ["x", "./x", "d/../x"],
    ]
    var claims = OutputClaims()
    for paths in ways {
      for (place, path) in paths.enumerated() {
        let answer = Self.word(claims.claim(fixture.path(path), for: one))
        #expect(answer == (place == 0 ? "granted" : "repeated"), "\(path)")
        #expect(Self.word(claims.claim(fixture.path(path), for: other)) == "refused invalid")
      }
    }
  }

  @Test("do not follow a link with the name of the output")
  func linkAsName() {
    var claims = OutputClaims()
    #expect(Self.word(claims.claim(fixture.path("way"), for: one)) == "granted")
    #expect(Self.word(claims.claim(fixture.path("d"), for: other)) == "granted")
  }

  @Test("refuse two sources in one folder with one output, and name the other source")
  func rivals() throws {
    for name in ["r/a.gz", "r/b.tgz", "r/b.tar.zst", "r/c.gz"] as [PathBytes] { try fixture.file(name, "x") }
    try fixture.symbolicLink("r/c.xz", to: "a.gz")
    try fixture.folder("r/a.zst")
    func rival(_ name: PathBytes, followsLinks: Bool = false) throws -> String? {
      let record = try fixture.record(name)
      let found = FileRecord(
        directory: record.directory, names: NameArena(name: record.path.lastComponent), nameOffset: 0,
        status: record.status, followsLinks: followsLinks)
      let naming = OutputNaming(Self.removing, directory: "o")
      let target = try #require(naming.target(of: record.path))
      let rival = OutputRivals.rival(of: found, target: target, naming, calls: LinuxCalls())
      return rival.map { fixture.relative($0) }
    }
    #expect(try rival("r/a.gz") == nil)
    #expect(try rival("r/b.tgz") == "r/b.tar.zst")
    #expect(try rival("r/b.tar.zst") == "r/b.tgz")
    #expect(try rival("r/c.gz") == nil)
    #expect(try rival("r/c.gz", followsLinks: true) == "r/c.xz")
  }

  @Test("look for such sources when two names of a folder give one output")
  func sharedOutputs() throws {
    let names = ["a.gz", "a.zst.gz", "b.tgz", "b.tar.xz", "c.gz", "c.gzip", "d.gz", "d.txt", ".gz", "e"]
    var arena: [UInt8] = []
    for name in names { arena += Array(name.utf8) + [0] }
    try fixture.file("a.gz", "x")
    let record = try fixture.record("a.gz")
    let found = FileRecord(
      directory: record.directory, names: NameArena(arena), nameOffset: 0, status: record.status,
      followsLinks: false)
    let rivals = OutputRivals(beside: found, OutputNaming(Self.removing, directory: nil))
    #expect(rivals.hold(for: found) && rivals.hold(for: record))
    let other = try fixture.record("a.gz")
    #expect(!rivals.hold(for: other))
    let outputs = ["a", "a.zst", "b.tar", "b", "c", "d", "d.txt", "", "e"] as [PathBytes]
    #expect(outputs.filter { rivals.mayHold(PathBytes("x/\($0)")) } == ["b.tar", "c"])
  }
}
