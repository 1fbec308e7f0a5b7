import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// What a command answers when something else was probably meant.
@Suite(.serialized) struct AdviceTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file("d/f", "content")
    try t.file("data/g", "more")
    try t.folder("empty")
  }

  private func run(_ arguments: [PathBytes]) throws -> CommandRun {
    try CommandRun(arguments, in: t, environment: ["XDG_STATE_HOME": t.state, "HOME": t.path("home")])
  }

  private func backUp() throws {
    let run = try run(["backup", "-q", "--no-fsync", "--init", "--to", "set", "d"])
    #expect(run.status == 0, "\(run.errorText)")
  }

  @Test(
    "a glob that can never match is refused with 64, and one for the name itself is offered",
    arguments: ["hash", "compress", "archive"], ["--exclude", "--include"])
  func glob(command: PathBytes, option: PathBytes) throws {
    let run = try run([command, option, "[", "d"])
    #expect(run.status == 64)
    #expect(run.errorText.contains("the pattern '[' can never match"), "\(run.errorText)")
    #expect(run.errorText.contains("Try: batchproc \(command) \(option) '[[]' d\n"), "\(run.errorText)")
    #expect(try self.run(["hash", option, "[[]", "d"]).status == 0)
  }

  @Test(
    "a directory with data is not offered as the target of a backup",
    arguments: [
      (["d", "data"], "--to /mnt/backups d data"), (["d"], "--to /mnt/backups d"),
      (["d", "empty"], "--to empty d"), (["d", "missing"], "--to missing d"),
      (["data", "set"], "--to set data"),
    ] as [([PathBytes], String)])
  func target(operands: [PathBytes], offer: String) throws {
    try backUp()
    let run = try run(["backup"] + operands)
    #expect(
      run.status == 64 && run.errorText.contains("Try: batchproc backup \(offer)\n"), "\(run.errorText)")
  }

  @Test("the formats of archives are named for a name without a known suffix")
  func formats() throws {
    let run = try run(["archive", "-o", "x.rar", "d"])
    #expect(run.status == 64 && run.errorText.contains("use --format with one of "), "\(run.errorText)")
    #expect(run.errorText.contains("tar.zst") && run.errorText.contains("7z"))
  }

  @Test("a manifest that is verified like an archive is recognized")
  func manifest() throws {
    try backUp()
    let name = try #require(t.names(in: "set").first { $0.description.hasSuffix(".manifest.zst") })
    let run = try run(["verify", PathBytes("set/\(name)")])
    #expect(run.status == 1 && run.errorText.contains("is the manifest of a snapshot, not an archive"))
    #expect(run.errorText.contains(".tar.zst'") && run.errorText.contains("'batchproc verify set'"))
  }

  @Test("one snapshot is counted as one, and a page that was written is named")
  func counts() throws {
    try backUp()
    let copy = try run(["copy", "--no-fsync", "set", "far"])
    #expect(copy.errorText.contains("copied 1 snapshot ("), "\(copy.errorText)")
    let report = try run(["report", "-o", "page.html", "set"])
    #expect(report.errorText.contains("wrote a page about 1 set to page.html"), "\(report.errorText)")
    #expect(try run(["report", "-q", "-o", "page.html", "set"]).errorText == "")
  }

  @Test("a manifest whose names are found beside it is answered with -C")
  func namesBesideTheManifest() throws {
    try t.file("col/x y/one", "1")
    let made = try run(["hash", "-q", "col/x y/one"]).text.replacing("col/x y/", with: "")
    try t.file("col/x y/SUMS", made)
    let check = try run(["check", "col/x y/SUMS"])
    #expect(check.status == 4)
    #expect(
      check.errorText.contains("the names are found below 'col/x y': use -C 'col/x y'"), "\(check.errorText)")
    #expect(try run(["check", "-q", "-C", "col/x y", "col/x y/SUMS"]).status == 0)
    try t.remove("col/x y/one")
    #expect(!(try run(["check", "col/x y/SUMS"]).errorText.contains("use -C")))
  }

  @Test(
    "a remote that was given to a command for local directories is answered with what does the work",
    arguments: [
      ("verify off:path", "'batchproc drill --all off:path'"),
      ("report off:path", "'batchproc snapshots off:path'"),
      ("prune --keep-last 2 off:path", "'batchproc copy --copy-keep-last N DIRECTORY off:path'"),
      ("copy off:path here", "'batchproc restore --from off:path -C DIR'"),
    ])
  func remote(_ command: String, _ advice: String) throws {
    let run = try run(command.split(separator: " ").map { PathBytes(String($0)) })
    #expect(run.status == 1, "\(run.errorText)")
    #expect(
      run.errorText.contains("off:path: is a remote, which only snapshots, restore, drill and")
        && run.errorText.contains(advice), "\(run.errorText)")
  }
}
