import TestSupport
import Testing

/// Companions, copies, and files that somebody without a key adds to a set or its copies.
extension EncryptedSetTests {
  @Test(
    "the companion of a removed snapshot stays while its archive is needed, so that verify needs no key",
    .enabled(if: Host.canPreload && Host.hasPython))
  func companionOfBase() throws {
    try t.preloadClock()
    let run = try run(
      """
      export LD_PRELOAD=$PWD/preload.so
      back_up
      echo new >src/new
      back_up
      "$BP" copy -q --copy-keep-last 1 set far
      files far | says "the copy"
      "$BP" prune -q --keep-last 1 set
      files set | says "after prune"
      ends "verify after prune" "$BP" verify -q set
      # What an interrupted run was about to remove.
      (cd set && ls *.companion *.tar.zst.age) | sort | head -2 | tr '\\n' '\\0' >set/.backup.lock
      back_up
      files set | says "after an interrupted removal"
      flip $(ls set/*.tar.zst.age | head -1)
      ends "verify a damaged archive" "$BP" verify -q set 2>errors
      counts "named by verify" 'its digest differs' <errors
      ends "copy a damaged archive" "$BP" copy -q --checksum set far 2>errors
      counts "named by copy" 'is damaged, and does not replace' <errors
      rm -r set/*
      cp far/* set
      back_up --full
      "$BP" prune -q --keep-last 1 set
      files set | says "after a full snapshot and prune"
      ends "verify the copy" "$BP" verify -q far
      """)
    let base = "2 companion 1 manifest 1 manifest.zst.age 2 tar.zst.age"
    run.expectSteps([
      "the copy": base, "after prune": base, "verify after prune": "0",
      "after an interrupted removal": "3 companion 1 manifest 2 manifest.zst.age 3 tar.zst.age",
      "verify a damaged archive": "4", "named by verify": "1",
      "copy a damaged archive": "3", "named by copy": "1",
      "after a full snapshot and prune": "1 companion 1 manifest 1 manifest.zst.age 1 tar.zst.age",
      "verify the copy": "0",
    ])
  }

  @Test(
    "a needed archive without a companion, which earlier versions removed, is not verified (3), and the copy is used to judge it",
    .enabled(if: Host.canPreload && Host.hasPython))
  func withoutCompanion() throws {
    try t.preloadClock()
    let run = try run(
      """
      export LD_PRELOAD=$PWD/preload.so
      unverified='[.]tar[.]zst[.]age: is not verified'
      back_up
      echo new >src/new
      back_up
      "$BP" copy -q set far
      cp -a far good
      "$BP" prune -q --keep-last 1 set
      a=$(ls set/*.tar.zst.age | head -1)
      rm $(ls set/*.companion | head -1)
      ends "verify without the key" "$BP" verify -q set 2>errors
      counts "not verified" "$unverified" <errors
      ends "verify with the key" "$BP" verify -q -i key set
      flip far/$(basename $a)
      ends "copy over a damaged copy" "$BP" copy -q --checksum set far
      ends "copy is repaired" diff -r far good
      flip $a
      ends "copy a damaged archive" "$BP" copy -q --checksum set far 2>errors
      counts "named by copy" 'is damaged, and does not replace' <errors
      ends "copy is the same" diff -r far good
      rm set/*.companion
      ends "verify without companions" "$BP" verify -q set 2>errors
      counts "not verified without companions" "$unverified" <errors
      """)
    run.expectSteps([
      "verify without the key": "3", "not verified": "1", "verify with the key": "0",
      "copy over a damaged copy": "0", "copy is repaired": "0",
      "copy a damaged archive": "3", "named by copy": "1", "copy is the same": "0",
      // An archive that no readable manifest needs is named only.
      "verify without companions": "4", "not verified without companions": "2",
    ])
  }

  @Test("a plain snapshot of an encrypted set is copied only with --plain; one that is there stays")
  func plainCopy() throws {
    let run = try run(
      """
      copied() { ls far | counts "$1" '[.]manifest[.]zst$'; }
      back_up
      "$BP" backup -q --plain --to set src 2>/dev/null
      ends copy "$BP" copy -q set far 2>errors
      counts "named by copy" 'is not encrypted.*not copied.*--plain' <errors
      copied "copied by copy"
      ends backup "$BP" backup -q --to set --encrypt-to "$(cat recipient)" --copy-to far src 2>/dev/null
      copied "copied by backup"
      ends "copy --plain" "$BP" copy -q --plain set far
      copied "copied by copy --plain"
      ends "copy to plain ones" "$BP" copy -q set far
      copied "still there"
      rm -r far
      ends "backup --plain" "$BP" backup -q --to set --plain --copy-to far src 2>/dev/null
      copied "copied by backup --plain"
      """)
    run.expectSteps([
      "copy": "3", "named by copy": "1", "copied by copy": "0", "backup": "3", "copied by backup": "0",
      "copy --plain": "0", "copied by copy --plain": "1", "copy to plain ones": "0", "still there": "1",
      "backup --plain": "0", "copied by backup --plain": "2",
    ])
  }

  /// Three files that anybody who can add files to a set can make without a key: garbage, and a companion that fits to it.
  private static let forge = """
    forge() { python3 - "$@" <<'EOF'
    import hashlib, sys
    folder, stamp, sequence = sys.argv[1:]
    manifest, archive = b'age-encryption.org/v1\\ngarbage' + stamp.encode(), b'age-encryption.org/v1\\nx'
    name = f'{folder}/backup-{stamp}'
    open(name + '.manifest.zst.age', 'wb').write(manifest)
    open(name + '.tar.zst.age', 'wb').write(archive)
    digest = lambda b: hashlib.sha256(b).hexdigest()
    line = ('{"type":"companion","schema":1,"sequence":%s,"increment":0,"verified":true,'
      '"archive_size":%d,"archive_sha256":"%s","manifest_size":%d,"manifest_sha256":"%s","needs":"%s"}\\n'
      % (sequence, len(archive), digest(archive), len(manifest), digest(manifest), stamp)).encode()
    open(name + '.companion', 'wb').write(line + b'{"type":"end","sha256":"%s"}\\n' % digest(line).encode())
    EOF
    }
    """

  @Test(
    "a snapshot that somebody without a key has added displaces no real one",
    .enabled(if: Host.hasPython),
    arguments: [("20500101T000000Z", 3), ("20200101T000000Z", 99), ("20200101T000000Z", 3)],
    ["$XDG_STATE_HOME", "$PWD/other"])
  func forged(_ forged: (stamp: String, sequence: Int), state: String) throws {
    // Without the state of the machine that made the set, a number that fits cannot be recognized.
    if state != "$XDG_STATE_HOME", forged.stamp < "2050", forged.sequence == 3 { return }
    let run = try run(
      """
      \(Self.forge)
      back_up
      back_up --full
      "$BP" copy -q set far
      cp -a far far2
      newest=$(ls set/*.manifest.zst.age | tail -1)
      at="--at $(echo $newest | grep -o '[0-9T]*Z')"
      mine=$XDG_STATE_HOME
      export XDG_STATE_HOME=\(state)
      forge far \(forged.stamp) \(forged.sequence)
      forge far2 \(forged.stamp) \(forged.sequence)
      forge far2 20200101T000001Z $((\(forged.sequence) + 1))
      for far in far far2; do
        ends "copy to $far" "$BP" copy -q --copy-keep-last 1 set $far
        ends "newest in $far" test -e $far/$(basename $newest)
        "$BP" restore -q -i key $at -C out.$far $far && ends "restore from $far" diff -r src out.$far$PWD/src
      done
      forge set \(forged.stamp) \(forged.sequence)
      ends "prune with the key" "$BP" prune -q --keep-last 1 -i key set 2>errors
      counts "named by prune" 'nothing is removed' <errors
      ends "prune without the key" "$BP" prune -q --keep-last 1 set
      "$BP" restore -q -i key $at -C out set && ends "restore from set" diff -r src out$PWD/src
      export XDG_STATE_HOME=$mine
      rm -r out
      back_up --keep-last 1 2>/dev/null
      ends "restore after another backup" check
      """)
    run.expectSteps([
      "copy to far": "0", "newest in far": "0", "restore from far": "0",
      "copy to far2": "0", "newest in far2": "0", "restore from far2": "0",
      "prune with the key": "1", "named by prune": "1", "prune without the key": "0",
      "restore from set": "0", "restore after another backup": "0",
    ])
  }
}
