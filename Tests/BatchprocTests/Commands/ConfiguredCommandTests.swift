import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// Commands with a configuration file of the user, within this process.
@Suite(.serialized) struct ConfiguredCommandTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file("t/a", "first\n")
    try t.file("u/b", "second\n")
    for folder in ["home", "home/.config", "home/.config/batchproc", "xdg", "xdg/batchproc"] as [PathBytes] {
      try t.folder(folder)
      try t.setMode(folder, 0o755)
    }
  }

  private func configure(_ text: String, at place: PathBytes = "home/.config/batchproc/config") throws {
    try t.file(place, text)
    try t.setMode(place, 0o644)
  }

  private func run(_ arguments: PathBytes..., environment: [String: PathBytes] = [:]) throws -> CommandRun {
    try CommandRun(
      arguments, in: t,
      environment: ["HOME": t.path("home"), "XDG_STATE_HOME": t.state].merging(environment) { $1 })
  }

  @Test("variables override the file, and the command line overrides variables")
  func sources() throws {
    try configure("quiet\n[hash]\nalgorithm = md5\n")
    let lengths = try [
      run("hash", "t"), run("hash", "t", environment: ["BATCHPROC_ALGORITHM": "sha1"]),
      run("hash", "-a", "sha256", "t", environment: ["BATCHPROC_ALGORITHM": "sha1"]),
    ].map { $0.output.firstIndex(of: UInt8(ascii: " ")) }
    #expect(lengths == [32, 40, 64])
    try configure("quiet\n[hash]\nalgorithm = sha512\n", at: "xdg/batchproc/config")
    let xdg = try run("hash", "t", environment: ["XDG_CONFIG_HOME": t.path("xdg")])
    #expect(xdg.output.firstIndex(of: UInt8(ascii: " ")) == 128)
    let list = try run("config", "hash", environment: ["BATCHPROC_STRIDE": "3"])
    let rows = list.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(rows.contains("hash.algorithm = md5 \(t.path("home/.config/batchproc/config")):3"), "\(rows)")
    #expect(rows.contains("hash.stride = 3 BATCHPROC_STRIDE"))
  }

  @Test("a profile can be a whole command, and config names the source of each value")
  func profiles() throws {
    try configure("[profile one]\ncommand = hash\noperand = t\nalgorithm = md5\nquiet\n")
    let profile = try run("--profile", "one")
    #expect(profile.status == 0 && profile.text.hasSuffix("  t/a\n"), "\(profile.errorText)")
    #expect(try run("--profile", "one", "u").text.hasSuffix("  u/b\n"))
    let list = try run("config", "--profile", "one")
    #expect(list.text.contains("(profile one)"), "\(list.text)\(list.errorText)")
    let wrong = try run("--profile", "two")
    #expect(wrong.status == 64 && wrong.errorText.contains("unknown profile"))
    #expect(try run("--profile", "onne").errorText.contains("Did you mean 'one'?"))
    #expect(try run("--no-config", "--profile", "one").status == 64)
  }

  @Test("backup runs several profiles one after the other, and refuses those of other commands")
  func sequence() throws {
    try configure(
      """
      quiet
      [profile one]
      command = backup
      operand = t
      to = one
      init
      [profile two]
      command = backup
      operand = u
      to = two
      init
      [profile other]
      command = hash
      operand = t
      """)
    let backup = try run("backup", "--profile", "one", "--profile", "two")
    #expect(backup.status == 0, "\(backup.errorText)")
    for set in ["one", "two"] as [PathBytes] {
      #expect(try run("snapshots", set).text.contains("full"), "\(set)")
    }
    let other = try run("backup", "--profile", "one", "--profile", "other")
    #expect(other.status == 64 && other.errorText.contains("is for 'hash', not for 'backup'"))
  }

  @Test("a file that others may write to, or that cannot be read, is refused with a remedy")
  func refusals() throws {
    try configure("quiet\n")
    try t.setMode("home/.config/batchproc/config", 0o666)
    let open = try run("hash", "t")
    #expect(open.status == 64 && open.errorText.contains("other users may write to it"), "\(open.errorText)")
    #expect(open.errorText.contains("--no-config"))
    #expect(try run("--no-config", "hash", "-q", "t").status == 0)
    try t.remove("home/.config/batchproc/config")
    try t.folder("home/.config/batchproc/config")
    let folder = try run("hash", "t")
    #expect(
      [1, 64].contains(folder.status) && folder.errorText.contains("batchproc/config"), "\(folder.errorText)")
  }

  @Test("the manual of a command is printed, and an unknown one is refused")
  func manual() throws {
    let manuals = try [run("--experimental-generate-man"), run("--experimental-generate-man", "hash")]
    #expect(manuals.map(\.status) == [0, 0] && manuals[0].output != manuals[1].output)
    #expect(try run("--experimental-generate-man", "hsh").status == 64)
    #expect(try run("help", "hash").text == run("hash", "--help").text)
  }
}
