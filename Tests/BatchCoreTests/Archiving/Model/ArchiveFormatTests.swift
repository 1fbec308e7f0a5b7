import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ArchiveFormatTests {
  @Test(arguments: [
    ("a.tar", "tar"), ("a.tar.zst", "tar.zst"), ("x/b.tzst", "tar.zst"), ("A.TAR.GZ", "tar.gz"),
    ("a.tgz", "tar.gz"), ("a.b.txz", "tar.xz"), ("a.tar.lz4", "tar.lz4"), ("a.cpio", "cpio"),
    ("a.zip", "zip"), ("a.7z", "7z"),
  ])
  func isRecognizedByTheSuffix(path: PathBytes, name: String) {
    #expect(ArchiveFormat(suffixOf: path)?.name == name)
  }

  @Test(arguments: ["tar", ".tar", "a", "a.zst", "a.gz", "atar", "a.tar/b", "a.rar", "-", ""] as [PathBytes])
  func isNotRecognizedByOtherNames(path: PathBytes) {
    #expect(ArchiveFormat(suffixOf: path) == nil)
  }

  @Test func hasAUniqueName() {
    for format in ArchiveFormat.all {
      #expect(ArchiveFormat(named: format.name) == format)
      #expect(ArchiveFormat(suffixOf: PathBytes("x." + format.name)) == format)
    }
    #expect(ArchiveFormat(named: "rar") == nil)
  }
}
