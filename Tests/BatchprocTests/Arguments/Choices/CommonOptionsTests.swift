import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct CommonOptionsTests {
  @Test func hasTheDefaultsOfTheContract() throws {
    let options = try CommonOptions(parsed("hash", "x"))
    #expect(options.concurrency == nil && options.stride == nil && options.maxOpenFiles == nil)
    #expect(options.maxMemory == nil && options.maxLoad == nil && options.qos == .standard)
    #expect(options.fileLists.isEmpty && options.filterRules.isEmpty && options.policy == EventPolicy())
    let walk = options.walk
    #expect(!walk.skipsCaches && !walk.readsIgnoreFiles && !walk.staysOnFileSystem && !walk.followsLinks)
    #expect(walk.minimumSize == nil && walk.maximumSize == nil)
    #expect(options.progress == .auto && options.color == .auto)
    #expect(!options.quiet && !options.verbose && !options.json && !options.dryRun && options.fsync)
  }

  @Test func resolvesEveryOption() throws {
    let options = try CommonOptions(
      parsed(
        "hash", "x", "-j4", "--stride", "16", "--max-open-files=100", "--max-memory", "1M", "--max-load=2.5",
        "--qos", "background", "--exclude-caches", "--gitignore", "-x", "-L", "--min-size=1", "--max-size=1K",
        "--on", "vanished=warn", "--on=changed=retry:3", "--on", "vanished=fail", "--progress=plain",
        "--color=never", "--json", "-n", "--no-fsync"))
    #expect(options.concurrency == 4 && options.stride == 16 && options.maxOpenFiles == 100)
    #expect(options.maxMemory == 1_048_576 && options.maxLoad == .average(2.5) && options.qos == .background)
    let walk = options.walk
    #expect(walk.skipsCaches && walk.readsIgnoreFiles && walk.staysOnFileSystem && walk.followsLinks)
    #expect(walk.minimumSize == 1 && walk.maximumSize == 1024)
    #expect(options.policy[.vanished] == .fail && options.policy[.changed] == .retry(3))
    #expect(options.progress == .plain && options.color == .never)
    #expect(options.json && options.dryRun && !options.fsync)
  }

  @Test func keepsTheOrderOfFilterRules() throws {
    let options = try CommonOptions(
      parsed(
        "hash", "x", "--include", "a", "--exclude=b", "--exclude-from", "f", "--include=c", "--exclude", "a"))
    let (a, b, c) = (Array("a".utf8), Array("b".utf8), Array("c".utf8))
    #expect(options.filterRules == [.include(a), .exclude(b), .excludeFrom("f"), .include(c), .exclude(a)])
  }

  @Test func keepsTheOrderOfFileLists() throws {
    let options = try CommonOptions(parsed("hash", "--files0-from=b", "--files-from=-", "--files-from=a"))
    #expect(options.fileLists.map(\.path) == ["b", "-", "a"])
    #expect(options.fileLists.map(\.isNULEnded) == [true, false, false])
  }

  @Test func usesTheLastOfQuietAndVerbose() throws {
    let loud = try CommonOptions(parsed("hash", "x", "-q", "-v"))
    #expect(loud.verbose && !loud.quiet)
    let still = try CommonOptions(parsed("check", "x", "-vq"))
    #expect(still.quiet && !still.verbose)
  }

  @Test(arguments: [
    ["--files-from=-", "--files0-from=-"], ["--files-from=-", "-"], ["--exclude-from=-", "-"],
    ["--files-from=-", "--exclude-from=-"],
  ])
  func readsStandardInputOnce(arguments: [String]) throws {
    let command = try parsed(paths(["hash"] + arguments))
    let error = #expect(throws: UsageError.self) { try CommonOptions(command) }
    #expect(error?.message == "Standard input ('-') can be read for one purpose only.")
  }

  @Test func acceptsStandardInputAsSeveralOperands() throws {
    _ = try CommonOptions(parsed("hash", "-", "-"))
  }

  @Test func refusesRangesThatNoSizeFits() throws {
    let command = try parsed("hash", "x", "--min-size=2K", "--max-size=1K")
    #expect(throws: UsageError.self) { try CommonOptions(command) }
    _ = try CommonOptions(parsed("hash", "x", "--min-size=1K", "--max-size=1K"))
  }
}
