import Glibc
import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

/// Outputs that have neither a final nor a temporary name until they are complete.
@Suite struct UnnamedOutputTests {
  private let folder: TreeFixture
  private let target: PathBytes

  init() throws {
    folder = try TreeFixture()
    target = folder.path("out")
  }

  private func unnamed(
    _ permissions: UInt32 = 0o644, replacing: Bool = false, area: StagingArea = .shared
  ) throws -> AtomicFile {
    let file = try AtomicFile(
      at: target, in: OpenFolder(of: target), replacing: replacing, unnamedWith: permissions,
      area: area)
    let text = Array("content".utf8)
    try file.write(text.span)
    return file
  }

  private func mode() throws -> UInt32 {
    var raw = stat()
    try #require(target.withCString { lstat($0, &raw) } == 0)
    return FileStatus(raw).mode & 0o7777
  }

  @Test("the folder is empty until the file gets its name; then the file has its content and its mode")
  func isNamedAtTheEnd() throws {
    for permissions: UInt32 in [0o644, 0o600, 0o444, 0o777] {
      let file = try unnamed(permissions)
      #expect(folder.names().isEmpty)
      try file.prepare(.init(permissions: permissions))
      #expect(folder.names().isEmpty)
      try file.publish()
      #expect(folder.names() == ["out"])
      #expect(folder.text("out") == "content")
      #expect(try mode() == permissions)
      #expect(target.withCString { unlink($0) } == 0)
    }
  }

  @Test("the mode is the one requested at the end, not the one with which the file was made")
  func changesMode() throws {
    let opened = try OpenFolder(of: target)
    for permissions: UInt32 in [0o600, 0o640] {
      let file = try AtomicFile(at: target, in: opened, replacing: false, unnamedWith: 0o644)
      try file.prepare(.init(permissions: permissions))
      try file.publish()
      #expect(try mode() == permissions)
      #expect(target.withCString { unlink($0) } == 0)
    }
  }

  @Test("the mode is set although attributes were set")
  func setsModeBesideAttributes() throws {
    let file = try unnamed(0o600)
    let attribute = ExtendedAttribute(name: Array("user.kind".utf8), value: [1])
    try file.prepare(.init(permissions: 0o640), attributes: [attribute])
    try file.publish()
    #expect(try mode() == 0o640)
  }

  @Test("a file that is discarded or freed leaves nothing")
  func leavesNothing() throws {
    try unnamed().discard()
    _ = try unnamed()
    #expect(folder.names().isEmpty)
  }

  @Test("a file that took the name meanwhile is kept")
  func replacesNothing() throws {
    let file = try unnamed()
    try folder.file("out", "other")
    try file.prepare(.init(permissions: 0o644))
    let error = #expect(throws: BatchError.self) { try file.publish() }
    #expect(error?.code == .invalid)
    #expect(error?.message.contains("exists already") == true)
    #expect(folder.names() == ["out"])
    #expect(folder.text("out") == "other")
  }

  @Test("an output that replaces a file has a temporary name, since a link cannot replace a file")
  func replacesByName() throws {
    try folder.file("out", "other")
    let file = try unnamed(replacing: true)
    #expect(folder.names().count == 2)
    try file.prepare(.init(permissions: 0o644))
    try file.publish()
    #expect(folder.names() == ["out"])
    #expect(folder.text("out") == "content")
  }

  @Test("a file gets no name when the run is being stopped")
  func isCancelled() throws {
    let area = StagingArea()
    let file = try unnamed(area: area)
    try file.prepare(.init(permissions: 0o644))
    area.removeAll()
    expectError(.cancelled) { try file.publish() }
    #expect(folder.names().isEmpty)
  }

  @Test("the content can be read back before the file has a name")
  func readsBack() throws {
    let file = try unnamed()
    var bytes = [UInt8]()
    try file.readBack { bytes += $0 }
    #expect(bytes == Array("content".utf8))
  }
}
