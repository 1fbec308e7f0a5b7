import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct DescriptorTests {
  private let fixture: TreeFixture

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("file", "content")
  }

  private func open() -> Int32 {
    fixture.path("file").withCString { Glibc.open($0, O_RDONLY | O_CLOEXEC) }
  }

  @Test func closesItselfAtTheEndOfItsLife() {
    do {
      let descriptor = Descriptor(owning: open())
      #expect(descriptor.raw >= 0)
      #expect(fixture.openDescriptors == 1)
    }
    #expect(fixture.openDescriptors == 0)
  }

  @Test func closesOnce() throws {
    let descriptor = Descriptor(owning: open())
    try descriptor.close()
    #expect(fixture.openDescriptors == 0)
  }

  @Test func leavesAReleasedDescriptorOpen() {
    let raw = Descriptor(owning: open()).release()
    #expect(fixture.openDescriptors == 1)
    close(raw)
  }

  @Test func throwsTheErrorOfClose() {
    #expect { try Descriptor(owning: -1).close() } throws: { ($0 as? BatchError)?.errno == EBADF }
  }
}
