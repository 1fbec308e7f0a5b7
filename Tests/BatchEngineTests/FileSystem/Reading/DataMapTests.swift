import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct DataMapTests {
  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  private func map(_ name: PathBytes, size: UInt64) -> [Range<UInt64>]? {
    let descriptor = fixture.path(name).withCString { open($0, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    return DataMap.read(descriptor, size: size)
  }

  @Test func findsTheHoles() throws {
    try fixture.file("f", "")
    try fixture.truncate("f", to: 1 << 20)
    try fixture.append("end", to: "f")
    let size = UInt64(1 << 20) + 3
    let found = try #require(map("f", size: size))
    #expect(found.count == 1)
    #expect(found.last?.upperBound == size && (found.first?.lowerBound ?? 0) > 0)
  }

  @Test func recognizesAFileThatIsOneHole() throws {
    try fixture.file("f", "")
    try fixture.truncate("f", to: 1 << 20)
    #expect(map("f", size: 1 << 20) == [])
  }

  @Test func isNilWithoutHoles() throws {
    try fixture.file("f", size: 100_000)
    try fixture.file("empty", "")
    #expect(map("f", size: 100_000) == nil)
    #expect(map("empty", size: 0) == nil)
    #expect(DataMap.read(-1, size: 5) == nil)
  }

  @Test("holes are counted up to a limit, and only if the file takes less space than its size")
  func limit() throws {
    try fixture.file("f", "start")
    try fixture.truncate("f", to: 1 << 20)
    try fixture.append("end", to: "f")
    let descriptor = fixture.path("f").withCString { open($0, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    var raw = stat()
    _ = fstat(descriptor, &raw)
    #expect(DataMap.hasHoles(descriptor, FileStatus(raw), above: 0))
    #expect(DataMap.hasHoles(descriptor, FileStatus(raw), above: 900_000))
    #expect(!DataMap.hasHoles(descriptor, FileStatus(raw), above: 1 << 20))
    raw.st_blocks = raw.st_size / 512 + 1
    #expect(!DataMap.hasHoles(descriptor, FileStatus(raw), above: 0))
  }
}
