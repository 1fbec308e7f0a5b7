import BatchEngine
import Glibc
import TestSupport
import Testing

/// Backups that a signal, or an output that cannot be written, stops outside of the run that archives.
@Suite(.timeLimit(.minutes(2))) struct BackupStopTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      "mkdir src bin; seq 1000 >src/a; printf '#!/bin/sh\\necho >ready; exec sleep 60\\n' >bin/rclone; chmod +x bin/rclone"
    )
  }

  /// Sends TERM to a backup as soon as the file `ready` exists.
  private func stop(_ options: String) throws -> Outcome {
    let program = try t.startShell("PATH=$PWD/bin:$PATH exec $BP backup --to set \(options) src")
    try #require(eventually { t.exists("ready") })
    program.signal(SIGTERM)
    return program.wait()
  }

  @Test("a signal during --before ends the backup like any other, and the hooks are told so")
  func before() throws {
    let run = try stop("--before 'echo >ready; exec sleep 60' --after 'echo $BATCHPROC_STATUS >status'")
    #expect(run.ending == .signal(SIGTERM), "\(run.ending) \(run.errorText)")
    #expect(!run.errorText.contains("--before") && t.text("status") == "143\n", "\(run.errorText)")
    #expect(try t.shell("ls set/*.manifest.zst").status != 0)
  }

  @Test("a signal during --after ends the backup, and the warning names the cause")
  func after() throws {
    let run = try stop("--after 'echo >ready; exec sleep 60'")
    #expect(run.ending == .signal(SIGTERM), "\(run.ending) \(run.errorText)")
    #expect(
      run.errorText.contains("the command of --after was ended early: stopped by a signal"),
      "\(run.errorText)")
  }

  @Test("a signal while snapshots are copied ends the backup, and the hooks are told so")
  func copy() throws {
    let run = try stop("--json --copy-to off:far --after 'echo $BATCHPROC_STATUS >status'")
    #expect(run.ending == .signal(SIGTERM), "\(run.ending) \(run.errorText)")
    #expect(t.text("status") == "143\n" && run.errorText == "", "\(run.errorText)")
    #expect(run.text.contains(#""complete":false"#) && !run.text.contains(#""type":"error""#), "\(run.text)")
  }

  @Test(
    "a signal while the removal of old snapshots waits for readers ends the backup",
    .enabled(if: Host.hasPython))
  func prune() throws {
    try t.shell("$BP backup -q --to set --full src; $BP backup -q --to set --full src")
    let reader = try t.startShell(
      """
      exec python3 -c 'import fcntl, os, struct, time
      lock = os.open("set/.backup.lock", os.O_RDWR)
      fcntl.fcntl(lock, 37, struct.pack("hhxxxxqqi4x", fcntl.F_RDLCK, 0, 1, 1, 0))  # F_OFD_SETLK of the byte of readers
      open("locked", "w").close(); time.sleep(200)'
      """)
    try #require(eventually { t.exists("locked") })
    let program = try t.startShell("exec $BP backup --full --keep-last 1 --lock-wait 100s --to set src")
    try #require(eventually { (try? t.shell("ls set/*.manifest.zst | wc -l").text) == "3\n" })
    program.signal(SIGTERM)
    let run = program.wait()
    #expect(run.ending == .signal(SIGTERM), "\(run.ending) \(run.errorText)")
    reader.signal(SIGKILL)
    _ = reader.wait()
  }

  /// How many archives the set has; 0 while a checkpoint is written, until the only manifest is that of the newest archive. A script
  /// that looks again and again would take more processor time than the backup.
  private var archiveCount: Int {
    let names = t.names(in: "set").map(\.description).filter { !$0.hasPrefix(".") }
    let archives = names.filter { $0.hasSuffix(".tar.zst") }
    let manifests = names.filter { $0.hasSuffix(".manifest.zst") }
    let newest = archives.suffix(1).map { $0.replacing(".tar.zst", with: ".manifest.zst") }
    return manifests == newest ? archives.count : 0
  }

  @Test("a signal after a checkpoint keeps it, and says what the snapshot has", arguments: [1, 2, 4, 9])
  func checkpoint(count: Int) throws {
    try t.shell("head -c 24000000 /dev/urandom | split -b 300000 -a 3 -d - src/f")
    let program = try t.startShell(
      "exec $BP backup -q --no-fsync --checkpoint 1M --rate 10M --to set src")
    let isStored = eventually {
      usleep(10_000)
      return archiveCount >= count
    }
    try #require(isStored)
    program.signal(SIGTERM)
    let run = program.wait()
    #expect(run.ending == .signal(SIGTERM), "\(run.ending) \(run.errorText)")
    #expect(
      run.errorText.contains("is not complete: it has the files up to")
        && !run.errorText.contains("nothing of this run is kept"), "\(run.errorText)")
    let kept = try t.shell(
      "ls set/*.tar.zst | wc -l; ls set/*.manifest.zst | wc -l; $BP verify -q set; echo $?")
    #expect(kept.text.hasSuffix("\n1\n0\n"), "\(kept.text)\(kept.errorText)")
  }

  @Test("a closed standard output ends a run quietly also when only its summary is written")
  func closed() throws {
    let run = try t.shell(
      """
      mkdir empty; for c in 'backup --json --to set src' 'hash --json empty'; do { sleep 0.3; exec $BP $c; } | :; echo ${PIPESTATUS[0]}; done
      """)
    #expect(run.text == "141\n141\n" && run.errorText == "", "\(run.text)\(run.errorText)")
  }
}
