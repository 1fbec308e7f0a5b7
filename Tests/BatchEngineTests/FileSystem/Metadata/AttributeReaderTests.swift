import CLinux
import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite("Extended attributes")
struct AttributeReaderTests {
  @Test(
    "are sorted by name, without those that the kernel keeps for itself",
    .enabled(if: geteuid() == 0, "only root may set them"))
  func names() throws {
    let fixture = try TreeFixture()
    try fixture.file("file", "text")
    let file = open(fixture.path("file").description, O_RDWR)
    defer { close(file) }
    for name in ["user.z", "trusted.SGI_MAC_FILE", "trusted.SGI_CAP_FILE", "trusted.note", "user.a"] {
      try #require(clinux_fsetxattr(file, name, name, name.utf8.count) == 0)
    }
    let names = ["trusted.note", "user.a", "user.z"]
    #expect(AttributeReader.attributes(of: file).map { String(decoding: $0.name, as: UTF8.self) } == names)
    let named = fixture.path("file").withCString {
      AttributeReader.attributes(of: $0, in: AT_FDCWD, followingLinks: false)
    }
    #expect(named.map { String(decoding: $0.value, as: UTF8.self) } == names)
  }
}
