import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct HashOptionsTests {
  @Test func hasTheDefaultsOfTheContract() throws {
    let options = HashOptions(try parsed("hash", "x"))
    #expect(options.algorithms == [.sha256])
    #expect(options.format == .gnu)
    #expect(!options.endsRowsInNUL && options.output == nil && !options.replacesOutput)
  }

  @Test func keepsAlgorithmsInTheirOrderAndOnce() throws {
    let options = HashOptions(try parsed("hash", "x", "-a", "xxh3", "--algorithm=sha1", "-axxh3"))
    #expect(options.algorithms == [.xxh3, .sha1])
  }

  @Test(arguments: HashOptions.algorithmNames)
  func acceptsEveryAlgorithm(name: String) throws {
    #expect(HashOptions(try parsed("hash", "x", "-a", PathBytes(name))).algorithms.map(\.rawValue) == [name])
  }

  @Test(arguments: [
    (["--tag"], ManifestFormat.bsd), (["--tag", "--format=mtree"], .mtree),
    (["--format=mtree", "--tag"], .bsd), (["--format", "hashdeep"], .hashdeep), (["--format=json"], .json),
  ])
  func acceptsTagAsAFormat(arguments: [String], format: ManifestFormat) throws {
    let command = try parsed(paths(["hash", "x"] + arguments))
    #expect(HashOptions(command).format == format)
  }

  @Test func namesTheOutput() throws {
    let options = HashOptions(try parsed("hash", "-zo", "m", "--force", "x"))
    #expect(options.output == "m" && options.endsRowsInNUL && options.replacesOutput)
    #expect(HashOptions(try parsed("hash", "x", "-o-")).output == nil)
  }
}
