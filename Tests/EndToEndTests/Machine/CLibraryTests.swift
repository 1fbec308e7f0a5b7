import TestSupport
import Testing

/// Which versions of the C library the program starts with.
@Suite(.timeLimit(.minutes(1))) struct CLibraryTests {
  /// The newest version of glibc that the program may need. README names the systems that have it.
  private static let newest = 34

  @Test func theProgramNeedsNoNewerVersion() throws {
    let run = try TreeFixture().shell("objdump -T $BP")
    try #require(run.status == 0, "\(run.errorText)")
    let versions = run.text.split { "( )\n\t".contains($0) }.filter { $0.hasPrefix("GLIBC_") }
    #expect(versions.count > 100)
    for version in Set(versions) {
      let parts = version.dropFirst("GLIBC_".count).split(separator: ".").compactMap { Int($0) }
      #expect(parts.first == 2 && parts.count >= 2 && parts[1] <= Self.newest, "\(version)")
    }
  }
}
