import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// A backup set from its first snapshot to its last, within this process.
@Suite(.serialized) struct SetCommandTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    for number in 1...9 {
      try t.file(PathBytes("src/d/\(number)"), String(repeating: "\(number) ", count: number * 900))
    }
    try t.symbolicLink("src/link", to: "d/1")
  }

  private func run(_ arguments: PathBytes..., input: String = "") throws -> CommandRun {
    try CommandRun(
      arguments, in: t, input: Array(input.utf8),
      environment: ["XDG_STATE_HOME": t.state, "TMPDIR": t.path("tmp"), "HOME": t.path("home")])
  }

  private func names(_ ending: String) throws -> [PathBytes] {
    try Outcome(shell: "ls set | grep '\(ending)$'", in: t).rows.map { PathBytes($0) }
  }

  @Test("snapshots are made, listed, drilled, compared, restored and pruned")
  func snapshots() throws {
    try t.folder("tmp")
    #expect(try run("backup", "-q", "--init", "--to", "set", "src").status == 0)
    try t.file("src/new", "new")
    try t.remove("src/d/3")
    let second = try run("backup", "-q", "--to", "set", "src")
    #expect(second.status == 0, "\(second.errorText)")
    let list = try run("snapshots", "set")
    #expect(list.status == 0 && list.text.split(separator: "\n").count >= 2, "\(list.text)\(list.errorText)")
    #expect(list.text.contains("full"))
    let drill = try run("drill", "--all", "set")
    #expect(drill.status == 0, "\(drill.errorText)")
    let restored = try run("restore", "-q", "-C", "out", "set")
    #expect(restored.status == 0, "\(restored.errorText)")
    let place = PathBytes("out" + "\(t.path("src"))")
    #expect(t.content(place.appending("new".utf8)) == Array("new".utf8))
    #expect(t.content(place.appending("d/9".utf8)) == t.content("src/d/9"))
    #expect(t.content(place.appending("d/3".utf8)) == nil)
    let prune = try run("prune", "--keep-last", "1", "set")
    #expect([0, 3].contains(prune.status), "\(prune.errorText)")
    let weekly = try run(
      "prune", "--dry-run", "--keep-hourly", "2", "--keep-daily", "2", "--keep-weekly", "2", "--keep-monthly",
      "1",
      "--keep-yearly", "1", "--keep-within", "3d", "set")
    #expect(weekly.status == 0, "\(weekly.errorText)")
  }

  @Test("a drill remembers damaged archives, and reads them first until they are whole")
  func suspects() throws {
    try t.folder("tmp")
    #expect(try run("backup", "-q", "--init", "--to", "set", "src").status == 0)
    let archive = PathBytes("set").appending(try #require(try names("tar.zst").first).bytes)
    let whole = try #require(t.content(archive))
    var damaged = whole
    damaged[whole.count / 3] ^= 0x40
    try t.file(archive, damaged)
    let bad = try run("drill", "--all", "set")
    #expect(bad.status == 4, "\(bad.errorText)")
    let noted = try #require(t.content("set/.backup.drill"))
    #expect(
      String(decoding: noted, as: UTF8.self).contains("suspect"), "\(String(decoding: noted, as: UTF8.self))")
    #expect(try run("drill", "-q", "set").status == 4)
    try t.file(archive, whole)
    #expect(try run("drill", "-q", "--all", "set").status == 0)
    let again = try #require(t.content("set/.backup.drill"))
    #expect(!String(decoding: again, as: UTF8.self).contains("suspect"))
  }

  @Test("an encrypted set is listed, drilled and restored with its key, and not with another")
  func encrypted() throws {
    try t.folder("tmp")
    let key = try run("keygen", "-o", "key")
    #expect(key.status == 0, "\(key.errorText)")
    #expect(try run("keygen", "-o", "other").status == 0)
    let recipient = PathBytes(Array(key.output.split(separator: UInt8(ascii: "\n")).last ?? []))
    let backup = try run("backup", "-q", "--init", "--to", "set", "--encrypt-to", recipient, "src")
    #expect(backup.status == 0, "\(backup.errorText)")
    try t.file("src/new", "new")
    #expect(try run("backup", "-q", "--to", "set", "--encrypt-to", recipient, "src").status == 0)
    let list = try run("snapshots", "-i", "key", "set")
    #expect(list.status == 0 && list.text.contains("full"), "\(list.text)\(list.errorText)")
    #expect(try run("drill", "-q", "--all", "-i", "key", "set").status == 0)
    let restored = try run("restore", "-q", "-i", "key", "-C", "out", "set")
    #expect(restored.status == 0, "\(restored.errorText)")
    #expect(t.content(PathBytes("out\(t.path("src"))/new")) == Array("new".utf8))
    #expect(try run("restore", "-q", "-i", "other", "-C", "out2", "set").status != 0)
    let without = try run("restore", "-q", "-C", "out2", "set")
    #expect(without.status != 0 && without.errorText.contains("--identity"), "\(without.errorText)")
    let manifest = PathBytes("set").appending(try #require(try names("manifest.zst.age").last).bytes)
    let content = try #require(t.content(manifest))
    for place in [20, content.count / 2, content.count - 3] {
      var damaged = content
      damaged[place] ^= 1
      try t.file(manifest, damaged)
      #expect(try run("restore", "-q", "-i", "key", "-C", "out3", "set").status != 0, "\(place)")
    }
  }

  @Test("a damaged companion, or one of a later version, is reported, and nothing is removed")
  func companions() throws {
    #expect(try run("keygen", "-o", "key").status == 0)
    let recipient = PathBytes(
      Array(try run("keygen", "-o", "key2").output.split(separator: UInt8(ascii: "\n")).last ?? []))
    #expect(try run("backup", "-q", "--init", "--to", "set", "--encrypt-to", recipient, "src").status == 0)
    #expect(try run("backup", "-q", "--to", "set", "--encrypt-to", recipient, "src").status == 0)
    let companion = PathBytes("set").appending(try #require(try names("companion").first).bytes)
    let content = try #require(t.content(companion))
    for changed in [Array(content.dropLast(5)), Array("{}\n".utf8), []] {
      try t.file(companion, changed)
      let prune = try run("prune", "--keep-last", "1", "set")
      #expect(
        prune.status != 0 && prune.errorText.contains("companion"), "\(prune.status) \(prune.errorText)")
      #expect(try names("tar.zst.age").count == 2)
    }
  }
}
