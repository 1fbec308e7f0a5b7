import TestSupport
import Testing

/// What a drill or a verification finds in an archive, and what the next runs do about it.
@Suite(.enabled(if: Host.hasPython && Host.canPreload), .timeLimit(.minutes(4)))
struct DamageRepairTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.preloadClock()
    try t.shell(
      """
      umask 077
      mkdir -p src/d
      python3 -c 'import os
      for n in range(1, 201): open(f"src/f{n}", "wb").write(os.urandom(20480))'
      ln src/f3 src/hard
      ln src/f3 src/d/hard
      echo x >src/d/x
      "$BP" keygen -o key >recipient
      """)
  }

  /// Runs a script of ``Steps`` in which `back_up` makes a snapshot on a later day, so that no file has changed shortly before it,
  /// `flip` damages the middle of a file, and `check` compares what is restored.
  private func run(_ script: String) throws -> Outcome {
    try t.shell(
      #"""
      export LD_PRELOAD=$PWD/preload.so SHIFT=0
      back_up() { SHIFT=$((SHIFT + 86400)); "$BP" backup -q --to set "$@" src; }
      flip() { python3 -c 'import os, sys
      with open(sys.argv[1], "r+b") as file:
          place = os.path.getsize(sys.argv[1]) // 2
          byte = os.pread(file.fileno(), 1, place)
          os.pwrite(file.fileno(), bytes([byte[0] ^ 1]), place)' $1; }
      check() {
        rm -rf out
        "$BP" restore -q "$@" -C out set && diff -r src out$PWD/src && [ out$PWD/src/f3 -ef out$PWD/src/d/hard ]
      }
      \#(Steps.functions)
      \#(script)
      """#, seconds: 120)
  }

  @Test(
    "the next backup archives again what a drill or a verification found damaged, and nothing else",
    arguments: [
      ("", "drill -q --all", ""), ("", "verify -q", ""),
      ("--encrypt-to-file recipient", "drill -q --all -i key", "-i key"),
      ("--encrypt-to-file recipient", "verify -q -i key", "-i key"),
      // Without a key it is unknown which files are damaged.
      ("--encrypt-to-file recipient", "verify -q", "-i key"),
    ])
  func again(encryption: String, search: String, key: String) throws {
    // Damage of an encrypted archive costs a whole frame, and this one has a single frame.
    let comparison = encryption.isEmpty ? "-lt" : "-gt"
    let run = try run(
      """
      back_up \(encryption)
      back_up \(encryption)
      flip $(ls set/*.tar.zst* | head -1)
      ends search "$BP" \(search) set >found 2>/dev/null
      counts missing MISSING <found
      "$BP" snapshots -q \(key) set | counts damaged damaged
      "$BP" snapshots -q \(key) set | counts verified verified
      back_up \(encryption) 2>errors
      counts "archived again" 'is damaged: what the snapshot before needs of it' <errors
      ends restore check \(key)
      "$BP" snapshots -q \(key) --json set | tail -2 | counts "new one whole" '"verified":true,"damaged":false'
      back_up \(encryption) 2>errors
      says "errors of the next backup" <errors
      "$BP" snapshots -q \(key) set | tail -1 | counts "last one verified" verified
      ends drill "$BP" drill -q --all \(key) set
      size=$(ls -l $(ls set/*.tar.zst* | sed -n 3p) | cut -d' ' -f5)
      whole=$(ls -l $(ls set/*.tar.zst* | head -1) | cut -d' ' -f5)
      ends "size of the archive" test $size \(comparison) $((whole / 2))
      """)
    run.expectSteps([
      "search": "4", "missing": "0", "damaged": "2", "verified": "0", "archived again": "1", "restore": "0",
      "new one whole": "1", "errors of the next backup": "", "last one verified": "1", "drill": "0",
      "size of the archive": "0",
    ])
  }

  @Test(
    "damaged contents are not known: files that have one are stored again under another name, and others are not"
  )
  func renamed() throws {
    let run = try run(
      """
      back_up
      flip set/*.tar.zst
      "$BP" verify -q set >/dev/null
      for file in src/f*; do mv $file src/g${file#src/f}; done
      ln src/g3 src/f3
      ends backup back_up 2>/dev/null
      ends restore check
      ends drill "$BP" drill -q --all set
      stored=$(tar --zstd -tf "$(ls set/*.tar.zst | tail -1)" | grep -c '/g[0-9]*$')
      ends "some are stored again" test $stored -gt 0 -a $stored -lt 150
      """)
    run.expectSteps(["backup": "0", "restore": "0", "drill": "0", "some are stored again": "0"])
  }

  @Test("snapshots and report count the damaged files")
  func count() throws {
    let run = try run(
      """
      back_up
      flip set/*.tar.zst
      "$BP" drill -q --all set | grep -c DAMAGED >damaged
      "$BP" snapshots -q set | counts "in the list" "damaged ($(cat damaged) files*)"
      "$BP" snapshots -q --json set |
        counts "in JSON" "\\"verified\\":false,\\"damaged\\":true,\\"damaged_files\\":$(cat damaged)"
      "$BP" report set | counts "in the report" "damaged ($(cat damaged) files*)"
      "$BP" drill -q --json --all set | grep -c '"class":"damaged"' | ends "events of the drill" cmp - damaged
      echo '{"type":' >set/.backup.drill
      "$BP" snapshots -q set 2>errors | counts "verified without the record" verified
      wc -l <errors | says "errors about the record"
      ends "next backup" back_up 2>errors
      counts "named by the next backup" 'results of drills cannot be read' <errors
      """)
    run.expectSteps([
      "in the list": "1", "in JSON": "1", "in the report": "1", "events of the drill": "0",
      "verified without the record": "1", "errors about the record": "1", "next backup": "0",
      "named by the next backup": "1",
    ])
  }

  @Test(
    "an archive that was copied back is whole again after the next verification",
    arguments: [("", ""), ("--encrypt-to-file recipient", ""), ("--encrypt-to-file recipient", "-i key")])
  func copiedBack(encryption: String, key: String) throws {
    let run = try run(
      """
      back_up \(encryption)
      cp -a set good
      flip set/*.tar.zst*
      ends "verify the damaged one" "$BP" verify -q \(key) set >/dev/null 2>&1
      "$BP" snapshots -q set | counts damaged damaged
      cp good/* set
      ends "verify the copy" "$BP" verify -q \(key) set
      "$BP" snapshots -q set | counts "damaged afterwards" damaged
      back_up \(encryption)
      "$BP" snapshots -q --json set | grep -o '"archives":"[^"]*' | tail -1 | wc -w | says "archives of the next one"
      """)
    run.expectSteps([
      "verify the damaged one": "4", "damaged": "1", "verify the copy": "0", "damaged afterwards": "0",
      "archives of the next one": "1",
    ])
  }

  @Test("a share of an archive that is whole clears only what it has read")
  func share() throws {
    let run = try run(
      """
      for n in $(seq 60); do head -c 200K /dev/urandom >src/g$n; done
      back_up
      cp -a set good
      flip set/*.tar.zst
      for part in 1 2 3; do "$BP" verify -q --share $part/3 set >/dev/null 2>&1; echo $?; done | sort | says "shares"
      "$BP" snapshots -q set | counts damaged damaged
      cp good/*.tar.zst set
      for part in 1 2 3; do "$BP" verify -q --share $part/3 set; echo $?; done | says "shares of the copy"
      "$BP" snapshots -q set | counts "damaged afterwards" damaged
      """)
    run.expectSteps([
      "shares": "0 0 4", "damaged": "1", "shares of the copy": "0 0 0", "damaged afterwards": "0",
    ])
  }

  @Test(
    "a snapshot that needs a damaged archive is copied only where a copy of the archive is, which stays",
    arguments: ["", "--encrypt-to-file recipient"])
  func copies(encryption: String) throws {
    let run = try run(
      """
      back_up \(encryption)
      "$BP" copy -q set far
      cp -a far good
      flip $(ls set/*.tar.zst*)
      "$BP" verify -q set >/dev/null 2>&1
      back_up --full \(encryption)
      ends "copy to a new place" "$BP" copy -q set new 2>errors
      counts "not copied" 'damage was found in it: the snapshot .* is not copied' <errors
      ls new/*.manifest.zst* | wc -l | says "manifests in the new place"
      ends "copy to the old place" "$BP" copy -q --checksum set far 2>errors
      counts "not replaced" 'is damaged, and does not replace' <errors
      for f in $(ls good); do cmp good/$f far/$f; done
      ls far/*.manifest.zst* | wc -l | says "manifests in the old place"
      cp good/* set
      "$BP" verify -q set
      ends "copy after the repair" "$BP" copy -q set new
      """)
    run.expectSteps([
      "copy to a new place": "3", "not copied": "1", "manifests in the new place": "1",
      "copy to the old place": "3", "not replaced": "1", "manifests in the old place": "2",
      "copy after the repair": "0",
    ])
  }

  @Test("a set that is read-only is verified all the same", .enabled(if: Host.canMount))
  func readOnly() throws {
    let run = try run(
      """
      back_up; mount() { unshare -m sh -c 'mount --bind set set && mount -o remount,ro,bind set && "$BP" verify -q set'; echo $?; }
      mount; flip set/*.tar.zst; mount 2>errors >/dev/null; mount >/dev/null 2>errors; grep -c 'warning: .*not recorded for the next backup' errors
      """)
    #expect(run.text == "0\n1\n", "\(run.text)\(run.errorText)")
  }
}
