import TestSupport
import Testing

/// Backup sets that the machine that writes them cannot decrypt.
@Suite(
  .enabled(if: (try? Outcome(shell: "command -v age"))?.status == 0, "age is not installed"),
  .timeLimit(.minutes(5)))
struct EncryptedSetTests {
  let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      umask 077
      mkdir src src/deep
      for i in 1 2 3; do seq $i 2000 >src/deep/secretname$i; done
      head -c 100000 /dev/urandom >src/noise
      "$BP" keygen -o key >recipient
      "$BP" keygen -o key2 >recipient2
      """)
  }

  /// Runs a script of ``Steps`` in which `back_up` makes a snapshot for the recipient, `check` restores and
  /// compares the newest one, `kinds` prints which snapshots are full, `files` counts the kinds of files in a
  /// set, and `flip` damages a file.
  func run(_ script: String, seconds: Double = 120) throws -> Outcome {
    try t.shell(
      """
      back_up() { "$BP" backup -q --to set --encrypt-to "$(cat recipient)" "$@" src; }
      check() { rm -rf out; "$BP" restore -q -i ${1:-key} -C out set && diff -r src out$PWD/src; }
      kinds() { "$BP" snapshots -i ${1:-key} set | grep -o 'full\\|[+][0-9]*'; }
      files() { ls $1 | sed 's/.*Z[.]//' | sort | uniq -c | sed 's/^ *//'; }
      flip() { python3 -c 'import sys
      with open(sys.argv[1], "r+b") as file:
          file.seek(3000)
          byte = file.read(1)
          file.seek(3000)
          file.write(bytes([byte[0] ^ 1]))' $1; }
      \(Steps.functions)
      \(script)
      """, seconds: seconds)
  }

  @Test("increments are written with the public key only, and read with the private key")
  func increments() throws {
    let run = try run(
      """
      back_up
      echo new >src/new
      rm src/deep/secretname2
      back_up
      ends restore check
      kinds | says kinds
      files set | says files
      "$BP" restore -q -C out2 set 2>&1 | counts "asks for the key" 'give --identity'
      ends "restore with another key" "$BP" restore -q -i key2 -C out2 set 2>/dev/null
      "$BP" snapshots set | counts "listed as encrypted" encrypted
      ends drill "$BP" drill -q --all -i key set
      ends "drill without the key" "$BP" drill -q set 2>/dev/null
      ends audit "$BP" audit -q -i key $(ls set/*.manifest.zst.age | tail -1) /
      for f in set/*.age; do "$BP" verify -q $f; echo $?; done | says "verify each file"
      grep -rlE 'secretname|[^0-9a-f]2000[^0-9a-f]' set "$XDG_STATE_HOME"/batchproc/sets |
        says "files with plain names or contents"
      ls -a set | grep drill | says "results of drills in the set"
      find "$XDG_STATE_HOME" -name '*.manifest.zst' -perm 600 | wc -l | says "private copies of the manifest"
      """)
    run.expectSteps([
      "restore": "0", "kinds": "full +1", "files": "2 companion 1 manifest 2 manifest.zst.age 2 tar.zst.age",
      "asks for the key": "1", "restore with another key": "1", "listed as encrypted": "2",
      "drill": "0", "drill without the key": "1", "audit": "0", "verify each file": "0 0 0 0",
      "files with plain names or contents": "", "results of drills in the set": "",
      "private copies of the manifest": "1",
    ])
  }

  @Test(
    "a lost or wrong copy of the manifest, and other recipients, lead to a full snapshot with a reason"
  )
  func full() throws {
    let run = try run(
      """
      manifests="$XDG_STATE_HOME"/batchproc/manifests
      reasons() { "$BP" backup --to set --encrypt-to "$(cat recipient)" "$@" src 2>&1; }
      back_up
      back_up
      rm -r "$manifests"
      reasons | counts "without a copy" 'no matching copy'
      back_up
      mv "$manifests" kept
      back_up --full 2>/dev/null
      rm -r "$manifests"
      mv kept "$manifests"
      reasons | counts "with an older copy" 'no matching copy'
      back_up
      reasons --encrypt-to "$(cat recipient2)" | counts "for one more recipient" 'for other recipients'
      ends "restore with the other key" check key2
      kinds | says kinds
      "$BP" backup --to set --plain src 2>&1 | counts "not encrypted" 'this snapshot is not, so it is full'
      "$BP" snapshots -i key set | tail -1 | counts "the last one is full" full
      """)
    run.expectSteps([
      "without a copy": "1", "with an older copy": "1", "for one more recipient": "1",
      "restore with the other key": "0", "kinds": "full +1 full +1 full full +1 full",
      "not encrypted": "1", "the last one is full": "1",
    ])
  }

  @Test(
    "the copy of a manifest that an earlier version has made for root in its home is used once",
    .enabled(if: Host.canMount))
  func earlierCopy() throws {
    let run = try run(
      """
      back_up
      mkdir -p home/.local; mv "$XDG_STATE_HOME" home/.local/state
      cat >go <<'END'
      mount -t tmpfs none /var/lib; unset XDG_STATE_HOME; export HOME=$PWD/home
      for night in 2 3 4; do
        "$BP" backup -q --to set --encrypt-to "$(cat recipient)" src
        [ $night = 2 ] || rm -rf home/.local/state
        if [ $night = 3 ]; then rm -r /var/lib/batchproc/manifests; fi
      done
      ls /var/lib/batchproc
      END
      unshare -m --propagation private bash go | says places
      kinds | says kinds
      """)
    run.expectSteps(["places": "manifests sets successes", "kinds": "full +1 +2 full"])
  }

  @Test("prune needs no key, removes companions too, and stops at a damaged companion")
  func prune() throws {
    let run = try run(
      """
      for i in 1 2 3 4; do
        echo $i >src/new
        back_up $(test $i = 3 && echo --full)
      done
      ends prune "$BP" prune -q --keep-last 1 set
      files set | grep -v tar | says files
      ends restore check
      sed -i 's/"sequence":4/"sequence":5/' $(ls set/*.companion | tail -1)
      ends "prune with a damaged companion" "$BP" prune -q --keep-last 1 set 2>/dev/null
      ends "list with a damaged companion" "$BP" snapshots set 2>/dev/null
      """)
    run.expectSteps([
      "prune": "0", "files": "2 companion 1 manifest 1 manifest.zst.age", "restore": "0",
      "prune with a damaged companion": "1", "list with a damaged companion": "4",
    ])
  }

  @Test("a companion that contradicts the manifest is found with the key")
  func companion() throws {
    let run = try run(
      """
      back_up
      c=$(ls set/*.companion)
      sed -i 's/"sequence":1/"sequence":7/' $c
      python3 - "$c" <<'EOF'
      import hashlib, sys
      line = open(sys.argv[1]).read().split('\\n')[0] + '\\n'
      digest = hashlib.sha256(line.encode()).hexdigest()
      open(sys.argv[1], 'w').write(line + '{"type":"end","sha256":"%s"}\\n' % digest)
      EOF
      ends "list without the key" "$BP" snapshots set >/dev/null
      ends "list with the key" "$BP" snapshots -i key set >/dev/null 2>&1
      ends drill "$BP" drill -q -i key set 2>/dev/null
      "$BP" restore -q -i key -C out set 2>&1 | counts "named by restore" 'does not match the encrypted manifest'
      """)
    run.expectSteps([
      "list without the key": "0", "list with the key": "4", "drill": "4", "named by restore": "1",
    ])
  }

  @Test("flipped bits of manifest, companion and archive are found without a key, and by a drill with it")
  func damage() throws {
    let run = try run(
      """
      back_up
      cat >damage.py <<'EOF'
      import glob, os, random, subprocess, sys
      random.seed(4)
      def status(*arguments):
          return subprocess.run([os.environ['BP'], *arguments], capture_output=True).returncode
      for path in sorted(glob.glob('set/*.age')) + glob.glob('set/*.companion'):
          whole = open(path, 'rb').read()
          for count in range(int(sys.argv[1])):
              data = bytearray(whole)
              data[random.randrange(len(data))] ^= 1 << random.randrange(8)
              open(path, 'wb').write(data if count % 10 else whole[:random.randrange(len(whole))])
              archive = glob.glob('set/*.tar.zst.age')[0]
              found = status('verify', '-q', path if path.endswith('.age') else archive)
              if found != 4: print(path, found)
              if count % 5 == 0 and status('drill', '-q', '--all', '-i', 'key', 'set') == 0: print('drill', path)
          open(path, 'wb').write(whole)
      EOF
      python3 damage.py \(Campaign.cases(200)) | says "damage that was not found"
      ends "restore of the whole set" check
      """, seconds: 280)
    run.expectSteps(["damage that was not found": "", "restore of the whole set": "0"])
  }

  @Test("a backup without its recipient is refused in an encrypted set, unless --plain is given")
  func plain() throws {
    let run = try run(
      """
      back_up
      for more in "" -n --full; do
        ends "backup $more" "$BP" backup -q $more --to set src 2>errors
        counts "named by backup $more" 'newest snapshot of this set is encrypted.*--plain' <errors
      done
      mv set/*.companion kept
      ends "backup without the companion" "$BP" backup -q --to set src 2>/dev/null
      mv kept $(ls set/*.manifest.zst.age | sed 's/manifest.zst.age/companion/')
      ls set | wc -l | says "files in the set"
      ends "--plain with a recipient" "$BP" backup -q --to set --plain --encrypt-to "$(cat recipient)" src 2>/dev/null
      ends "--plain" "$BP" backup -q --to set --plain src 2>errors
      counts "--plain is full" 'this snapshot is not, so it is full' <errors
      ends "backup of the plain set" "$BP" backup -q --to set src
      back_up 2>/dev/null
      ends "backup after an encrypted one" "$BP" backup -q --to set src 2>/dev/null
      "$BP" backup -q --to other src
      ends "backup of a set that was never encrypted" "$BP" backup -q --to other src
      printf 'plain = true\\n' >config
      ends "plain in a configuration" "$BP" backup --config config --to set src 2>/dev/null
      ls set/*.manifest.zst | wc -l | says "plain manifests"
      """)
    run.expectSteps([
      "backup ": "64", "named by backup ": "1", "backup -n": "64", "named by backup -n": "1",
      "backup --full": "64", "named by backup --full": "1", "backup without the companion": "64",
      "files in the set": "4", "--plain with a recipient": "64", "--plain": "0", "--plain is full": "1",
      "backup of the plain set": "0", "backup after an encrypted one": "64",
      "backup of a set that was never encrypted": "0", "plain in a configuration": "64",
      "plain manifests": "2",
    ])
  }

  @Test(
    "other keys than before lead to a full snapshot, and are named also with --quiet",
    arguments: [
      // The other way round it is a part of the test of a passphrase, since a passphrase costs a second for each file.
      ("--encrypt-to-file recipient", "--passphrase-file pass"),
      ("--encrypt-to-file recipient", "--encrypt-to-file recipient2"),
      ("--encrypt-to-file recipient", "--full --encrypt-to-file recipient2"),
      ("--encrypt-to-file recipient", "--encrypt-to-file recipient --encrypt-to-file recipient2"),
    ])
  func otherKeys(first: String, second: String) throws {
    let run = try run(
      """
      echo pass >pass
      chmod 600 pass
      "$BP" backup -q --to set \(first) src
      "$BP" backup -q --to set \(first) src
      ends backup "$BP" backup -q --to set \(second) src 2>errors
      wc -l <errors | says messages
      counts "full for other recipients" 'is encrypted for other recipients, so this snapshot is full' <errors
      grep -o '"increment":[0-9]' set/*.companion | cut -d: -f3 | says increments
      """)
    run.expectSteps([
      "backup": "0", "messages": "1", "full for other recipients": "1", "increments": "0 1 0",
    ])
  }

  @Test(
    "a copy of the manifest that another user can have written is not used", .enabled(if: Host.canChangeUser),
    arguments: [
      "chown 1234 M", "chown 1234 M/*.manifest.zst", "chown 1234 M/*.sha256", "chmod o+w M", "chmod o+w M/*",
    ])
  func foreignCopy(change: String) throws {
    let run = try run(
      """
      M=$XDG_STATE_HOME/batchproc/manifests
      back_up
      \(change.replacing("M", with: "$M"))
      ends backup back_up 2>errors
      wc -l <errors | says messages
      kinds | says kinds
      """)
    run.expectSteps(["backup": "0", "messages": "1", "kinds": "full full"])
  }

  @Test("the report shows the last drill, and the damage that it found", .enabled(if: Host.hasPython))
  func report() throws {
    let run = try run(
      """
      back_up
      "$BP" report set | counts "before a drill" 'damage found'
      "$BP" drill -q --all -i key set
      "$BP" report set | counts "after a drill" 'no damage found'
      flip set/*.tar.zst.age
      ends "drill of a damaged archive" "$BP" drill -q --all -i key set >/dev/null 2>&1
      "$BP" report set | counts "after the damage" '>damage found<'
      """)
    run.expectSteps([
      "before a drill": "0", "after a drill": "1", "drill of a damaged archive": "4", "after the damage": "1",
    ])
  }

  @Test("a passphrase opens and continues a set when the copy of the manifest is gone")
  func passphrase() throws {
    let run = try t.shell(
      """
      echo pass >pass
      chmod 600 pass
      back_up() { "$BP" backup -q --to set --passphrase-file pass src; }
      back_up
      rm -r "$XDG_STATE_HOME"/batchproc/manifests
      echo new >src/new
      back_up
      \(Steps.functions)
      # The newest snapshot alone, with the archives that it needs, as after a removal of the first one.
      cp -a set last
      rm "$(ls last/*.manifest.zst.age | head -n 1)"
      "$BP" restore -q --passphrase-file pass -C out last && ends restore diff -r src out$PWD/src
      "$BP" snapshots --passphrase-file pass last | counts increments '+1'
      ends "backup for a recipient" "$BP" backup -q --to set --encrypt-to-file recipient src 2>errors
      wc -l <errors | says messages
      counts "full for other recipients" 'is encrypted for other recipients, so this snapshot is full' <errors
      grep -o '"increment":[0-9]' set/*.companion | cut -d: -f3 | says "increments of all"
      """)
    run.expectSteps([
      "restore": "0", "increments": "1", "backup for a recipient": "0", "messages": "1",
      "full for other recipients": "1", "increments of all": "0 1 0",
    ])
  }

  @Test("the commands for stock tools in docs/backup.md restore a full snapshot")
  func stock() throws {
    let run = try run(
      """
      back_up
      mkdir out
      age -d -i key set/*.tar.zst.age | tar -C out --zstd -x && ends restore diff -r src out$PWD/src
      age -d -i key set/*.manifest.zst.age | zstdcat | jq -r 'select(.sha256) | .path' | wc -l | says "files in the manifest"
      """)
    run.expectSteps(["restore": "0", "files in the manifest": "4"])
  }

  @Test(
    "each day is restored after the copy of the manifest was lost once, and no plain name is in the set"
  )
  func days() throws {
    let run = try run(
      """
      last=\(max(6, Campaign.cases(30)))
      cat >change.py <<'EOF'
      import os, random, sys
      r = random.Random(sys.argv[1])
      for n in range(5):
          open('src/plainname%d' % r.randrange(20), 'wb').write(b'plaincontent' + r.randbytes(3000))
      for f in os.listdir('src'):
          if r.random() < 0.1 and os.path.isfile('src/' + f): os.remove('src/' + f)
      EOF
      for day in $(seq $last); do
        python3 change.py $day
        test $day = $((last / 2)) && rm -r "$XDG_STATE_HOME"/batchproc/manifests
        "$BP" backup --to set --encrypt-to "$(cat recipient)" src 2>>log
        cp -a src day.$day
      done
      counts "full again" 'so this snapshot is full' <log
      day=0
      for id in $("$BP" snapshots set | cut -d' ' -f1); do
        day=$((day + 1))
        rm -rf out
        "$BP" restore -q -i key --at $id -C out set 2>/dev/null
        diff -r day.$day out$PWD/src || echo different $day
      done
      ends "as many snapshots as days" test $day = $last
      grep -rlaE 'plainname|plaincontent' set | says "files with plain names or contents"
      """, seconds: 280)
    run.expectSteps([
      "full again": "1", "as many snapshots as days": "0", "files with plain names or contents": "",
    ])
  }

  @Test(
    "after a change of keys, one key shows and verifies what it opens, and the rest is named and not damaged")
  func changedKeys() throws {
    let run = try run(
      """
      back_up
      "$BP" backup -q --to set --encrypt-to "$(cat recipient2)" src
      "$BP" keygen -o key3 >recipient3
      for key in key key2; do
        ends "snapshots -i $key" "$BP" snapshots -i $key set >list 2>err
        grep -c verified list | says rows
        grep -c encrypted list | says "of them encrypted"
        grep -c 'none of the given identities' err | says "named as needing another key"
        ends "verify -i $key" "$BP" verify -i $key set 2>err
        grep -c 'needs another key: only the digests' err | says "named by verify"
        grep -cE 'damaged|problem' err | says "called damage"
        ends "prune -n -i $key" "$BP" prune -n --keep-last 1 -i $key set >/dev/null 2>err
        grep -c 'needs another key' err | says "named by prune"
      done
      ends "snapshots with both" "$BP" snapshots -i key -i key2 set >/dev/null
      ends "verify with both" "$BP" verify -q -i key -i key2 set
      ends "snapshots with the wrong key" "$BP" snapshots -i key3 set >/dev/null 2>&1
      flip $(ls set/*.tar.zst.age | head -n 1)
      ends "verify of a damaged archive for another key" "$BP" verify -i key2 set 2>/dev/null
      """)
    run.expectSteps([
      "snapshots -i key": "3", "rows": "2", "of them encrypted": "1", "named as needing another key": "1",
      "verify -i key": "3", "named by verify": "1", "called damage": "0", "prune -n -i key": "0",
      "named by prune": "1",
      "snapshots -i key2": "3", "rows": "2", "of them encrypted": "1", "named as needing another key": "1",
      "verify -i key2": "3", "named by verify": "1", "called damage": "0", "prune -n -i key2": "0",
      "named by prune": "1",
      "snapshots with both": "0", "verify with both": "0", "snapshots with the wrong key": "1",
      "verify of a damaged archive for another key": "4",
    ])
  }
}
