import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// The same job, given by flags, variables, files and a profile.
@Suite struct ConfigurationRunTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
    try t.folder("home/batchproc")
    try t.setMode("home", 0o755)
    try t.setMode("home/batchproc", 0o755)
  }

  private static let sample = Repository.root.appendingPathComponent("samples/batchproc.conf")
    .path

  private var home: [String: String] { ["XDG_CONFIG_HOME": t.path("home").description] }

  private func configure(_ text: String) throws {
    try t.file("home/batchproc/config", text)
    try t.setMode("home/batchproc/config", 0o644)
  }

  @Test(
    "a configuration file with a read error is not a usage error",
    .enabled(if: Host.canTrace, "needs strace"),
    arguments: [("openat", "open"), ("read", "read")])
  func unreadable(call: String, verb: String) throws {
    try configure("quiet\n")
    let run = try t.shell(
      "strace -qq -f --seccomp-bpf -o trace -P $PWD/home/batchproc/config -e trace=\(call) -e inject=\(call):error=EIO $BP hash t >m",
      environment: home)
    #expect(run.status == 1)
    #expect(run.errorText.hasPrefix("batchproc: ") && run.errorText.contains("/home/batchproc/config: "))
    #expect(run.errorText.contains("Input/output error"), "\(run.errorText)")
    #expect(!run.errorText.contains("Usage"), "\(run.errorText)")
  }

  @Test("flags, variables, a file and a profile make the same archive and the same manifest")
  func sameJob() throws {
    let flags = try t.batchproc(
      "archive", "-q", "--level", "9", "--reproducible", "--exclude", "em*", "--no-fsync", "-o", "a.tar.zst",
      "t")
    #expect(flags.status == 0)
    let expected = try #require(t.content("a.tar.zst"))

    let variables = try t.batchproc(
      "archive", "-o", "b.tar.zst", "t",
      environment: [
        "BATCHPROC_LEVEL": "9", "BATCHPROC_REPRODUCIBLE": "yes", "BATCHPROC_EXCLUDE": "em*",
        "BATCHPROC_FSYNC": "0", "BATCHPROC_QUIET": "1",
      ])
    #expect(variables.status == 0 && variables.errors.isEmpty)
    #expect(t.content("b.tar.zst") == expected)

    try configure("quiet\nexclude = em*\n[archive]\nlevel = 9\nreproducible = true\nfsync = false\n")
    let file = try t.batchproc("archive", "-o", "c.tar.zst", "t", environment: home)
    #expect(file.status == 0 && file.errors.isEmpty, "\(file.errorText)")
    #expect(t.content("c.tar.zst") == expected)

    try configure(
      """
      [profile one]
      command = archive
      operand = t
      output = d.tar.zst
      level = 9
      reproducible
      exclude = em*
      no-fsync
      quiet
      """)
    let profile = try t.batchproc("--profile", "one", environment: home)
    #expect(profile.status == 0 && profile.errors.isEmpty, "\(profile.errorText)")
    #expect(t.content("d.tar.zst") == expected)
    #expect(try t.batchproc("--no-config", "--profile", "one", environment: home).status == 64)
    // The output exists now; --force can be given next to the profile.
    #expect(try t.batchproc("--profile", "one", environment: home).status == 1)
    #expect(try t.batchproc("--profile", "one", "--force", environment: home).status == 0)
  }

  @Test("config names the source of each value")
  func sources() throws {
    try configure("max-concurrency = 2\n[profile p]\ncommand = hash\noperand = t\nstride = 3\n")
    let variables = home.merging(["BATCHPROC_QOS": "utility"]) { $1 }
    let file = t.path("home/batchproc/config")
    let rows = try t.batchproc("config", "hash", environment: variables)
    #expect(rows.status == 0 && rows.errors.isEmpty)
    let words = rows.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(words.contains("hash.max-concurrency = 2 \(file):1"))
    #expect(words.contains("hash.qos = utility BATCHPROC_QOS"))
    #expect(words.contains("hash.stride = auto default"))
    #expect(words.allSatisfy { $0.hasPrefix("hash.") })
    let job = try t.batchproc("config", "--profile", "p", "--json", environment: variables).text
    #expect(
      job.contains(
        #""option":"stride","value":"3","source":"profile","profile":"p","file":"\#(file)","line":5}"#))
    #expect(job.contains(#""option":"operand","value":"t","source":"profile""#))
    #expect(job.split(separator: "\n").last?.contains(#""type":"summary""#) == true)
    #expect(try t.batchproc("config", "hsh").errorText.contains("Did you mean 'hash'?"))
    let all = try t.batchproc("config", environment: variables)
    for command in ["check", "compress", "backup"] { #expect(all.text.contains("\n\(command).")) }
  }

  @Test("a wrong key ends each command with 64, and help is still printed")
  func wrongKey() throws {
    try configure("stride = 2\nmax-concurency = 2\n")
    let run = try t.batchproc("hash", "t", environment: home)
    #expect(run.status == 64 && run.output.isEmpty)
    #expect(run.errorText.contains("home/batchproc/config:2: "))
    #expect(run.errorText.contains("Did you mean 'max-concurrency'?"))
    #expect(try t.batchproc("hash", "--help", environment: home).status == 0)
    #expect(try t.batchproc("--version", environment: home).status == 0)
    #expect(try t.batchproc("--no-config", "hash", "t", environment: home).status == 0)
  }

  @Test("a file or folder that others may write to is refused")
  func permissions() throws {
    try configure("quiet\n")
    #expect(try t.batchproc("hash", "t", environment: home).status == 0)
    try t.setMode("home/batchproc/config", 0o664)
    let run = try t.batchproc("hash", "t", environment: home)
    #expect(run.status == 64 && run.errorText.contains("is refused, since other users may write to it"))
    try t.setMode("home/batchproc/config", 0o644)
    try t.setMode("home/batchproc", 0o777)
    #expect(try t.batchproc("hash", "t", environment: home).status == 64)
  }

  @Test("the file of another user is refused, and that of the system is read", .enabled(if: Host.canMount))
  func users() throws {
    try configure("quiet\n")
    let other = try t.shell("chown 4321 home/batchproc/config; $BP hash t", environment: home)
    #expect(other.status == 64 && other.errorText.contains("it belongs to another user"))
    let system = try t.shell(
      """
      mkdir etc; printf '[hash]\\nalgorithm = md5\\n' >etc/batchproc.conf
      unshare -m sh -c 'mount --bind etc /etc && "$BP" config hash && "$BP" hash -q t/text'
      """)
    #expect(system.text.contains("/etc/batchproc.conf:2\n"), "\(system.errorText)")
    #expect(system.rows.last?.count == 32 + 2 + 6)
  }

  @Test("the sample is valid")
  func sample() throws {
    let sample = try t.shell(
      "cp '\(Self.sample)' home/batchproc/config; chmod 644 home/batchproc/config; $BP config --profile nightly",
      environment: home)
    #expect(sample.status == 0, "\(sample.errorText)")
    #expect(sample.text.contains("backup.operand = /etc"))
  }
}
