import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// Commands that a plan divides, within this process: each shard and the merge are separate runs.
@Suite(.serialized) struct DividedCommandTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    for folder in ["a", "b c", "new\nline"] as [PathBytes] {
      for number in 1...6 {
        try t.file(
          PathBytes("t/\(folder)/\(number)"), String(repeating: "\(number) and more\n", count: number * 300))
      }
    }
    try t.file(PathBytes("t").appending([0xff]), "no UTF-8")
    try t.hardLink("t/z", to: "t/a/1")
    try t.symbolicLink("t/link", to: "a/1")
    try t.fifo("t/pipe")
  }

  private func run(
    _ arguments: [PathBytes], environment: [String: PathBytes] = [:]
  ) throws -> CommandRun {
    try CommandRun(arguments, in: t, environment: environment)
  }

  /// - Returns: the status of each shard, and the run of the merge.
  private func divided(_ command: [PathBytes], into count: Int) throws -> (shards: [Int32], merge: CommandRun)
  {
    let plan = try run(
      ["plan", "-q", "--no-fsync", "--shards", PathBytes("\(count)"), "--out", "p", "--"] + command)
    #expect(plan.status == 0, "\(plan.errorText)")
    var statuses: [Int32] = []
    for shard in (0..<count).reversed() {
      let run = try run([command[0], "-q", "--no-fsync", "--plan", "p", "--shard", PathBytes("\(shard)")])
      statuses.append(run.status)
    }
    return (statuses, try run(["merge", "-q", "--no-fsync", "p"]))
  }

  @Test(
    "write the same outputs as one run",
    arguments: [
      ["hash", "--format", "gnu"], ["hash", "--format", "mtree"], ["hash", "--format", "hashdeep", "-z"],
      ["hash", "--format", "json", "-a", "md5", "-a", "crc32"], ["archive", "--format", "tar.zst"],
      ["archive", "--format", "tar.gz", "--reproducible"], ["archive", "--format", "tar"],
    ] as [[PathBytes]])
  func outputs(command: [PathBytes]) throws {
    let command = command + ["--stride", "2"]
    #expect(try run([command[0], "-q", "--no-fsync", "-o", "one"] + command.dropFirst() + ["t"]).status == 0)
    let (shards, merge) = try divided(command + ["-o", "many", "t"], into: 4)
    #expect(shards == [0, 0, 0, 0] && merge.status == 0, "\(merge.errorText)")
    #expect(t.content("many") == t.content("one") && t.content("one")?.isEmpty == false)
  }

  @Test(
    "check the same rows as one run, with the status of the worst shard",
    arguments: [[], ["--status"], ["-q", "--warn"]] as [[PathBytes]])
  func checks(options: [PathBytes]) throws {
    let rows = try run(["hash", "-q", "t/a", "t/b c"])
    try t.file("m", rows.output + Array("no row\nSHA256 (x) = 12\n".utf8))
    try t.append("changed", to: "t/a/2")
    try t.remove("t/b c/3")
    let one = try run(["check"] + options + ["m"])
    let (shards, merge) = try divided(["check", "--stride", "3"] + options + ["m"], into: 3)
    #expect(one.status == 4 && merge.status == 4, "\(merge.errorText)")
    #expect(merge.output == one.output)
    #expect(shards.contains(4))
  }

  @Test("take nothing from the environment of one machine that would change the archive")
  func environment() throws {
    let command: [PathBytes] = ["archive", "--reproducible", "--format", "tar"]
    #expect(try run(command + ["-q", "--no-fsync", "-o", "one", "t"]).status == 0)
    let plan =
      ["plan", "-q", "--no-fsync", "--shards", "1", "--out", "p", "--"] + command + ["-o", "many", "t"]
    #expect(try run(plan).status == 0)
    let epoch: [String: PathBytes] = ["SOURCE_DATE_EPOCH": "1"]
    #expect(
      try run(["archive", "-q", "--no-fsync", "--plan", "p", "--shard", "0"], environment: epoch).status == 0)
    #expect(try run(["merge", "-q", "--no-fsync", "p"], environment: epoch).status == 0)
    #expect(t.content("many") == t.content("one") && t.content("one")?.isEmpty == false)
  }

  @Test("leave out the temporary files of other runs, as on one machine")
  func temporaries() throws {
    let name = PathBytes("t/a/.batchproc-00000000-\(String(repeating: "0", count: 32)).tmp")
    try t.file(name, [0x1f, 0x8b, 8, 0, 1])
    #expect(try run(["test", "-q", "t"]).status == 0)
    let (shards, merge) = try divided(["test", "--stride", "3", "t"], into: 2)
    #expect(shards == [0, 0] && merge.status == 0, "\(merge.errorText)")
    // The same bytes under another name are damage.
    try t.file("t/a/file", [0x1f, 0x8b, 8, 0, 1])
    #expect(try run(["test", "-q", "t"]).status == 4)
  }

  @Test("take no option from a configuration file that a plan refuses")
  func configuration() throws {
    try t.file("home/.config/batchproc/config", "[hash]\ncache\nalgorithm = md5\n")
    let plan: [PathBytes] = ["plan", "-q", "--no-fsync", "--shards", "1", "--out", "p", "--", "hash", "t"]
    #expect(try run(plan, environment: ["HOME": t.path("home")]).status == 0)
    let stored = String(decoding: t.content("p/plan.json") ?? [], as: UTF8.self)
    #expect(stored.contains("--algorithm") && !stored.contains("--cache"), "\(stored)")
  }

  @Test("compress, test and decompress all files")
  func compression() throws {
    let content = t.content("t/b c/5")
    let packed = try divided(
      ["compress", "--stride", "3", "--format", "zst", "--remove-source", "t"], into: 3)
    #expect(packed.shards == [0, 0, 0] && packed.merge.status == 0, "\(packed.merge.errorText)")
    #expect(t.content("t/b c/5") == nil && t.content("t/b c/5.zst") != nil)
    try t.removeTree("p")
    #expect(try divided(["test", "--stride", "3", "t"], into: 2).merge.status == 0)
    try t.removeTree("p")
    #expect(try divided(["decompress", "--stride", "4", "t"], into: 2).merge.status == 0)
    #expect(t.content("t/b c/5") == content)
  }

  @Test("report files that vanished or changed since the plan, and end with 3 when that is a failure")
  func changes() throws {
    let command: [PathBytes] = ["hash", "--stride", "2", "-o", "many", "t", "none"]
    #expect(try run(["plan", "-q", "--no-fsync", "--shards", "2", "--out", "p", "--"] + command).status == 0)
    try t.remove("t/a/3")
    try t.append("more", to: "t/a/4")
    try t.file("t/a/new", "new")
    for shard in ["0", "1"] as [PathBytes] {
      let run = try run(["hash", "-q", "--plan", "p", "--shard", shard, "--on", "vanished=fail"])
      #expect([0, 3].contains(run.status), "\(run.errorText)")
    }
    let merge = try run(["merge", "p"])
    #expect(merge.status == 3, "\(merge.errorText)")
    for text in ["t/a/4: changed since it was planned", "none: ", "t/a/3: ", "entries were added or removed"]
    {
      #expect(merge.errorText.contains(text), "\(text)")
    }
  }

  @Test("a shard without a result is named, and its rows are left out only when that is allowed")
  func missing() throws {
    let command: [PathBytes] = ["hash", "--stride", "2", "-o", "many", "t"]
    #expect(try run(["plan", "-q", "--no-fsync", "--shards", "2", "--out", "p", "--"] + command).status == 0)
    #expect(try run(["hash", "-q", "--plan", "p", "--shard", "1"]).status == 0)
    let merge = try run(["merge", "p"])
    #expect(merge.status == 5 && merge.errorText.contains("shard 0 is missing") && t.content("many") == nil)
    let status = try run(["status", "p"])
    #expect(status.text.contains("2 shards: 1 done") || status.errorText.contains("1 done"), "\(status.text)")
    #expect(try run(["merge", "--allow-missing", "p"]).status != 0)
    #expect(t.content("many")?.isEmpty == false)
  }

  @Test(
    "a command that cannot be divided is refused with 64, and no plan is made",
    arguments: [
      (["list", "x.tar"], "'list' cannot be divided"), (["hash", "-"], "standard input cannot be divided"),
      (["hash", "--cache", "t"], "plan cannot be made with --cache"),
      (["compress", "t", "u"], "takes one path"), (["compress", "--files-from", "l"], "takes one path"),
      (["archive", "--dry-run", "-o", "x", "t"], "plan cannot be made with --dry-run"),
      (["archive", "-o", "x.zip", "t"], "only unencrypted ones of the tar family"),
      (
        ["archive", "-o", "x.tar", "--encrypt-to", recipient, "t"], "only unencrypted ones of the tar family"
      ),
      ([], "missing expected argument"), (["--help"], "missing the command"),
      (["none"], "none"), (["hash", "--no-such-option"], "no-such-option"),
    ] as [([PathBytes], String)])
  func refused(command: [PathBytes], text: String) throws {
    let plan = try run(["plan", "--shards", "2", "--out", "p", "--"] + command)
    #expect(plan.status == 64 && plan.errorText.contains(text), "\(plan.errorText)")
    #expect(t.content("p/plan.json") == nil)
  }

  private static let recipient: PathBytes =
    "age1w8kgm95kxmpz9kwkyc2q8r9lm942axz04xxpnuxx8wch546ul44stt6y9k"

  @Test("an archive that the configuration encrypts is refused too")
  func encryptedByConfiguration() throws {
    try t.file(
      "xdg/batchproc/config", Array("[archive]\nencrypt-to = ".utf8) + Self.recipient.bytes + Array("\n".utf8)
    )
    let plan = try run(
      ["plan", "--shards", "2", "--out", "p", "--", "archive", "-o", "x.tar", "t"],
      environment: ["XDG_CONFIG_HOME": t.path("xdg")])
    #expect(plan.status == 64 && plan.errorText.contains("only unencrypted ones"), "\(plan.errorText)")
    #expect(t.content("p/plan.json") == nil)
  }

  @Test("a shard accepts options for its machine, and refuses values that differ from the plan")
  func options() throws {
    let command: [PathBytes] = ["hash", "--stride", "2", "-a", "md5", "-o", "many", "t"]
    #expect(try run(["plan", "-q", "--no-fsync", "--shards", "2", "--out", "p", "--"] + command).status == 0)
    for (own, text) in [
      (["hash", "-a", "sha1"], "the plan fixes --algorithm: it has 'md5' there, and 'sha1' was given."),
      (["hash", "--format", "bsd"], "the plan fixes --format: it has nothing there, and 'bsd' was given."),
      (["test"], "the plan is for 'hash', not for 'test'."),
    ] as [([PathBytes], String)] {
      let shard = try run(own + ["--plan", "p", "--shard", "0"])
      #expect(shard.status == 64 && shard.errorText.contains(text), "\(shard.errorText)")
    }
    #expect(try run(["hash", "-q", "-a", "md5", "-j", "1", "--plan", "p", "--shard", "0"]).status == 0)
    #expect(
      try run(["hash", "-q", "-j", "2", "--on", "special=warn", "--plan", "p", "--shard", "1"]).status == 0)
    #expect(try run(["merge", "-q", "p"]).status == 0)
    #expect(t.content("many") != nil)
  }

  @Test("exactly the commands that a plan can divide have --plan and --shard", arguments: CommandID.allCases)
  func planOptions(id: CommandID) {
    let options = id.spec.options.map(\.id)
    #expect((id.kind.divided != nil) == options.contains(.plan))
    #expect(options.contains(.plan) == options.contains(.shard))
  }
}
