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
      umask 077; mkdir -p src/d; for n in $(seq 200); do head -c 20K /dev/urandom >src/f$n; done; ln src/f3 src/hard; ln src/f3 src/d/hard; echo x >src/d/x
      "$BP" keygen -o key >recipient
      """)
  }

  /// Runs a script in which `back_up` makes a snapshot on a later day, so that no file has changed shortly before it, and
  /// `flip` damages the middle of a file.
  private func run(_ script: String) throws -> Outcome {
    try t.shell(
      #"""
      export LD_PRELOAD=$PWD/preload.so SHIFT=0
      back_up() { SHIFT=$((SHIFT + 86400)); "$BP" backup -q --to set "$@" src; }
      flip() { python3 -c 'import os, sys
      with open(sys.argv[1], "r+b") as f: at = os.path.getsize(sys.argv[1]) // 2; f.seek(at); b = f.read(1); f.seek(at); f.write(bytes([b[0] ^ 1]))' $1; }
      check() { rm -rf out; "$BP" restore -q "$@" -C out set && diff -r src out$PWD/src && [ out$PWD/src/f3 -ef out$PWD/src/d/hard ] && echo restored; }
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
      back_up \(encryption); back_up \(encryption); flip $(ls set/*.zst* | head -1); "$BP" \(search) set >found 2>/dev/null; echo $?; grep -c MISSING found
      "$BP" snapshots -q \(key) set | grep -c damaged; "$BP" snapshots -q \(key) set | grep -c verified; back_up \(encryption) 2>errors; grep -c 'is damaged: what the snapshot before needs of it' errors
      cp -a set kept; check \(key); "$BP" snapshots -q \(key) --json set | tail -2 | grep -c '"verified":true,"damaged":false'; back_up \(encryption) 2>errors; cat errors
      "$BP" snapshots -q \(key) set | tail -1 | grep -c verified; "$BP" drill -q --all \(key) set; echo $?
      size=$(ls -l $(ls set/*.zst* | sed -n 3p) | cut -d' ' -f5); whole=$(ls -l $(ls set/*.zst* | head -1) | cut -d' ' -f5)
      test $size \(comparison) $((whole / 2)) && echo size
      """)
    #expect(
      run.text == "4\n0\n2\n0\n1\nrestored\n1\n1\n0\nsize\n", "\(run.text)\(run.errorText)")
  }

  @Test("snapshots and report count the damaged files")
  func count() throws {
    let run = try run(
      """
      back_up; flip set/*.zst; "$BP" drill -q --all set | grep -c DAMAGED >damaged; "$BP" snapshots -q set | grep -o "damaged ($(cat damaged) files*)" | wc -l
      "$BP" snapshots -q --json set | grep -c "\\"verified\\":false,\\"damaged\\":true,\\"damaged_files\\":$(cat damaged)"; "$BP" report set | grep -c "damaged ($(cat damaged) files*)"
      "$BP" drill -q --json --all set | grep -c '"class":"damaged"' | cmp - damaged; echo '{"type":' >set/.backup.drill; "$BP" snapshots -q set 2>errors | grep -c verified; cat errors | wc -l
      back_up 2>errors; echo $?; grep -c 'results of drills cannot be read' errors
      """)
    #expect(run.text == "1\n1\n1\n1\n1\n0\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "an archive that was copied back is whole again after the next verification",
    arguments: [("", ""), ("--encrypt-to-file recipient", ""), ("--encrypt-to-file recipient", "-i key")])
  func copiedBack(encryption: String, key: String) throws {
    let run = try run(
      """
      back_up \(encryption); cp -a set good; flip set/*.zst*; "$BP" verify -q \(key) set >/dev/null 2>&1; echo $?; "$BP" snapshots -q set | grep -c damaged
      cp good/* set; "$BP" verify -q \(key) set; echo $?; "$BP" snapshots -q set | grep -c damaged; back_up \(encryption)
      "$BP" snapshots -q --json set | grep -o '"archives":"[^"]*' | tail -1 | wc -w
      """)
    #expect(run.text == "4\n1\n0\n0\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("a share of an archive that is whole clears only what it has read")
  func share() throws {
    let run = try run(
      """
      for n in $(seq 60); do head -c 200K /dev/urandom >src/g$n; done; back_up; cp -a set good; flip set/*.zst
      for part in 1 2 3; do "$BP" verify -q --share $part/3 set >/dev/null 2>&1; echo $?; done | sort | uniq -c | tr -s ' \\n' ' '; "$BP" snapshots -q set | grep -c damaged
      cp good/*.zst set; for part in 1 2 3; do "$BP" verify -q --share $part/3 set; echo $?; done | uniq; "$BP" snapshots -q set | grep -c damaged
      """)
    #expect(run.text == " 2 0 1 4 1\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a snapshot that needs a damaged archive is copied only where a copy of the archive is, which stays",
    arguments: ["", "--encrypt-to-file recipient"])
  func copies(encryption: String) throws {
    let run = try run(
      """
      back_up \(encryption); "$BP" copy -q set far; cp -a far good; flip $(ls set/*.zst*); "$BP" verify -q set >/dev/null 2>&1
      back_up --full \(encryption); "$BP" copy -q set new 2>errors; echo $?; grep -c 'damage was found in it: the snapshot .* is not copied' errors; ls new/*manifest* | wc -l
      "$BP" copy -q --checksum set far 2>errors; echo $?; grep -c 'is damaged, and does not replace' errors; for f in $(ls good); do cmp good/$f far/$f; done; ls far/*manifest* | wc -l
      cp good/* set; "$BP" verify -q set; "$BP" copy -q set new; echo $?
      """)
    #expect(run.text == "3\n1\n1\n3\n1\n2\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a set that is read-only is verified all the same", .enabled(if: Host.canMount))
  func readOnly() throws {
    let run = try run(
      """
      back_up; mount() { unshare -m sh -c 'mount --bind set set && mount -o remount,ro,bind set && "$BP" verify -q set'; echo $?; }
      mount; flip set/*.zst; mount 2>errors >/dev/null; mount >/dev/null 2>errors; grep -c 'warning: .*not recorded for the next backup' errors
      """)
    #expect(run.text == "0\n1\n", "\(run.text)\(run.errorText)")
  }
}
