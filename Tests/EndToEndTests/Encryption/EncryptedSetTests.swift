import TestSupport
import Testing

/// Backup sets that the machine that writes them cannot decrypt.
@Suite(
  .enabled(if: (try? Outcome(shell: "command -v age"))?.status == 0, "age is not installed"),
  .timeLimit(.minutes(5)))
struct EncryptedSetTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      umask 077; mkdir src src/deep; for i in 1 2 3; do seq $i 2000 >src/deep/secretname$i; done; head -c 100000 /dev/urandom >src/noise
      "$BP" keygen -o key >recipient; "$BP" keygen -o key2 >recipient2
      """)
  }

  /// Runs a script in which `back_up` makes a snapshot for the recipient, and `check` restores and compares
  /// the newest one.
  private func run(_ script: String, seconds: Double = 120) throws -> Outcome {
    try t.shell(
      """
      back_up() { "$BP" backup -q --to set --encrypt-to "$(cat recipient)" "$@" src; }
      reasons() { "$BP" backup --to set --encrypt-to "$(cat recipient)" src 2>&1 | grep -c "$1"; }
      check() { rm -rf out; "$BP" restore -q -i ${1:-key} -C out set && diff -r src out$PWD/src && echo restored; }
      kinds() { "$BP" snapshots -i ${1:-key} set | grep -o 'full\\|[+][0-9]*' | tr '\\n' ' '; }
      \(script)
      """, seconds: seconds)
  }

  @Test("increments are written with the public key only, and read with the private key")
  func increments() throws {
    let run = try run(
      """
      back_up; echo new >src/new; rm src/deep/secretname2; back_up; check; kinds; ls set | sed 's/.*Z[.]//' | sort | uniq -c | tr -s ' \\n' ' '
      "$BP" restore -q -C out2 set 2>&1 | grep -c 'give --identity'; "$BP" restore -q -i key2 -C out2 set 2>/dev/null; echo $?
      "$BP" snapshots set | grep -c encrypted; "$BP" drill -q --all -i key set; echo $?; "$BP" drill -q set 2>/dev/null; echo $?
      "$BP" audit -q -i key $(ls set/*.manifest.age | tail -1) /; echo $?
      for f in set/*.age; do "$BP" verify -q $f; echo $?; done
      grep -rlE 'secretname|[^0-9a-f]2000[^0-9a-f]' set "$XDG_STATE_HOME"/batchproc/sets; ls -a set | grep drill
      find "$XDG_STATE_HOME" -name '*.manifest' -perm 600 | wc -l
      """)
    #expect(
      run.text
        == "restored\nfull +1  2 companion 2 manifest.age 2 tar.zst.age 1\n1\n2\n0\n1\n0\n0\n0\n0\n0\n1\n",
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "a lost or wrong copy of the manifest, and other recipients, lead to a full snapshot with a reason"
  )
  func full() throws {
    let run = try run(
      """
      back_up; back_up; rm -r "$XDG_STATE_HOME"/batchproc/manifests; reasons 'no matching copy'; back_up
      mv "$XDG_STATE_HOME"/batchproc/manifests kept; back_up --full 2>/dev/null; rm -r "$XDG_STATE_HOME"/batchproc/manifests; mv kept "$XDG_STATE_HOME"/batchproc/manifests
      reasons 'no matching copy'; back_up
      "$BP" backup --to set --encrypt-to "$(cat recipient)" --encrypt-to "$(cat recipient2)" src 2>&1 | grep -c 'for other recipients'
      check key2; kinds
      "$BP" backup --to set --plain src 2>&1 | grep -c 'this snapshot is not, so it is full'; "$BP" snapshots -i key set | tail -1 | grep -c full
      """)
    #expect(
      run.text == "1\n1\n1\nrestored\nfull +1 full +1 full full +1 full 1\n1\n", "\(run.text)\(run.errorText)"
    )
  }

  @Test("prune needs no key, removes companions too, and stops at a damaged companion")
  func prune() throws {
    let run = try run(
      """
      for i in 1 2 3 4; do echo $i >src/new; back_up $(test $i = 3 && echo --full); done
      "$BP" prune -q --keep-last 1 set; ls set | grep -v tar | sed 's/.*Z[.]//' | sort | uniq -c | tr -s ' \\n' ' '; check
      c=$(ls set/*.companion | tail -1); sed -i 's/"sequence":4/"sequence":5/' $c; "$BP" prune -q --keep-last 1 set 2>/dev/null; echo $?
      "$BP" snapshots set 2>/dev/null; echo $?
      """)
    #expect(
      run.text == " 1 companion 1 manifest.age restored\n1\n4\n", "\(run.text)\(run.errorText)")
  }

  @Test("a companion that contradicts the manifest is found with the key")
  func companion() throws {
    let run = try run(
      """
      back_up; c=$(ls set/*.companion); sed -i 's/"sequence":1/"sequence":7/' $c
      python3 - "$c" <<'EOF'
      import hashlib, sys
      line = open(sys.argv[1]).read().split('\\n')[0] + '\\n'
      open(sys.argv[1], 'w').write(line + '{"type":"end","sha256":"%s"}\\n' % hashlib.sha256(line.encode()).hexdigest())
      EOF
      "$BP" snapshots set >/dev/null; echo $?; "$BP" snapshots -i key set >/dev/null 2>&1; echo $?
      "$BP" drill -q -i key set 2>/dev/null; echo $?; "$BP" restore -q -i key -C out set 2>&1 | grep -c 'does not match the encrypted manifest'
      """)
    #expect(run.text == "0\n4\n4\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("flipped bits of manifest, companion and archive are found without a key, and by a drill with it")
  func damage() throws {
    let run = try run(
      """
      back_up; cat >damage.py <<'EOF'
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
      python3 damage.py \(Campaign.cases(200)); check
      """, seconds: 280)
    #expect(run.text == "restored\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "the companion of a removed snapshot stays while its archive is needed, so that verify needs no key",
    .enabled(if: Host.canPreload && Host.hasPython))
  func companionOfBase() throws {
    try t.preloadClock()
    let run = try run(
      """
      export LD_PRELOAD=$PWD/preload.so; kinds() { ls $1 | sed 's/.*Z[.]//' | sort | uniq -c | tr -s ' \\n' ' '; echo; }
      back_up; echo new >src/new; back_up; "$BP" copy -q --copy-keep-last 1 set far; kinds far; "$BP" prune -q --keep-last 1 set; kinds set; "$BP" verify -q set; echo $?
      # What an interrupted run was about to remove.
      ls set | head -2 | tr '\\n' '\\0' >set/.backup.lock; back_up; kinds set
      a=$(ls set/*.tar.zst.age | head -1); \(Self.flip) $a; "$BP" verify -q set 2>errors; echo $?; grep -c 'its digest differs' errors
      "$BP" copy -q --checksum set far 2>errors; echo $?; grep -c 'is damaged, and does not replace' errors
      rm -r set/*; cp far/* set; back_up --full; "$BP" prune -q --keep-last 1 set; kinds set; "$BP" verify -q far; echo $?
      """)
    #expect(
      run.text == """
         2 companion 1 manifest.age 2 tar.zst.age 
         2 companion 1 manifest.age 2 tar.zst.age 
        0
         3 companion 2 manifest.age 3 tar.zst.age 
        4
        1
        3
        1
         1 companion 1 manifest.age 1 tar.zst.age 
        0

        """, "\(run.text)\(run.errorText)")
  }

  @Test(
    "a needed archive without a companion, which earlier versions removed, is not verified (3), and the copy is used to judge it",
    .enabled(if: Host.canPreload && Host.hasPython))
  func withoutCompanion() throws {
    try t.preloadClock()
    let run = try run(
      """
      export LD_PRELOAD=$PWD/preload.so; unverified() { grep -c '[.]tar[.]zst[.]age: is not verified' errors; }
      back_up; echo new >src/new; back_up; "$BP" copy -q set far; cp -a far good; "$BP" prune -q --keep-last 1 set; a=$(ls set/*.tar.zst.age | head -1)
      rm $(ls set/*.companion | head -1); "$BP" verify -q set 2>errors; echo $?; unverified; "$BP" verify -q -i key set; echo $?
      \(Self.flip) far/$(basename $a); "$BP" copy -q --checksum set far; echo $?; diff -r far good && echo repaired
      \(Self.flip) $a; "$BP" copy -q --checksum set far 2>errors; echo $?; grep -c 'is damaged, and does not replace' errors; diff -r far good && echo same
      rm set/*.companion; "$BP" verify -q set 2>errors; echo $?; unverified
      """)
    // An archive that no readable manifest needs is named only.
    #expect(
      run.text == "3\n1\n0\n0\nrepaired\n3\n1\nsame\n4\n2\n", "\(run.text)\(run.errorText)")
  }

  @Test("a backup without its recipient is refused in an encrypted set, unless --plain is given")
  func plain() throws {
    let run = try run(
      """
      back_up; for more in "" -n --full; do "$BP" backup -q $more --to set src 2>errors; echo $?; grep -c 'newest snapshot of this set is encrypted.*--plain' errors; done
      mv set/*.companion kept; "$BP" backup -q --to set src 2>/dev/null; echo $?; mv kept $(ls set/*.manifest.age | sed 's/manifest.age/companion/'); ls set | wc -l
      "$BP" backup -q --to set --plain --encrypt-to "$(cat recipient)" src 2>/dev/null; echo $?
      "$BP" backup -q --to set --plain src 2>errors; echo $?; grep -c 'this snapshot is not, so it is full' errors
      "$BP" backup -q --to set src; echo $?; back_up 2>/dev/null; "$BP" backup -q --to set src 2>/dev/null; echo $?
      "$BP" backup -q --to other src; "$BP" backup -q --to other src; echo $?; printf 'plain = true\\n' >config; "$BP" backup --config config --to set src 2>/dev/null; echo $?; ls set/*.manifest | wc -l
      """)
    #expect(
      run.text == "64\n1\n64\n1\n64\n1\n64\n3\n64\n0\n1\n0\n64\n0\n64\n2\n", "\(run.text)\(run.errorText)")
  }

  @Test("a plain snapshot of an encrypted set is copied only with --plain; one that is there stays")
  func plainCopy() throws {
    let run = try run(
      """
      plain() { ls far | grep -c '[.]manifest$'; }
      back_up; "$BP" backup -q --plain --to set src 2>/dev/null; "$BP" copy -q set far 2>errors; echo $?; grep -c 'is not encrypted.*not copied.*--plain' errors; plain
      "$BP" backup -q --to set --encrypt-to "$(cat recipient)" --copy-to far src 2>/dev/null; echo $?; plain
      "$BP" copy -q --plain set far; echo $?; plain; "$BP" copy -q set far; echo $?; plain; rm -r far
      "$BP" backup -q --to set --plain --copy-to far src 2>/dev/null; echo $?; plain
      """)
    #expect(run.text == "3\n1\n0\n3\n0\n0\n1\n0\n1\n0\n2\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "other keys than before lead to a full snapshot, and are named also with --quiet",
    arguments: [
      ("--encrypt-to-file recipient", "--passphrase-file pass"),
      ("--passphrase-file pass", "--encrypt-to-file recipient"),
      ("--encrypt-to-file recipient", "--encrypt-to-file recipient2"),
      ("--encrypt-to-file recipient", "--full --encrypt-to-file recipient2"),
      ("--encrypt-to-file recipient", "--encrypt-to-file recipient --encrypt-to-file recipient2"),
    ])
  func otherKeys(first: String, second: String) throws {
    let run = try run(
      """
      echo pass >pass; chmod 600 pass; "$BP" backup -q --to set \(first) src; "$BP" backup -q --to set \(first) src; "$BP" backup -q --to set \(second) src 2>errors; echo $?; cat errors | wc -l
      grep -c 'is encrypted for other recipients, so this snapshot is full' errors; grep -o '"increment":[0-9]' set/*.companion | cut -d: -f3 | tr '\\n' ' '
      """)
    #expect(run.text == "0\n1\n1\n0 1 0 ", "\(run.text)\(run.errorText)")
  }

  /// Three files that anybody who can add files to a set can make without a key: garbage, and a companion that fits to it.
  private static let forge = """
    forge() { python3 - "$@" <<'EOF'
    import hashlib, sys
    folder, stamp, sequence = sys.argv[1:]
    manifest, archive = b'age-encryption.org/v1\\ngarbage' + stamp.encode(), b'age-encryption.org/v1\\nx'
    name = f'{folder}/backup-{stamp}'
    open(name + '.manifest.age', 'wb').write(manifest); open(name + '.tar.zst.age', 'wb').write(archive)
    digest = lambda b: hashlib.sha256(b).hexdigest()
    line = ('{"type":"companion","schema":1,"sequence":%s,"increment":0,"verified":true,"archive_size":%d,"archive_sha256":"%s",'
      '"manifest_size":%d,"manifest_sha256":"%s","needs":"%s"}\\n' % (sequence, len(archive), digest(archive), len(manifest), digest(manifest), stamp)).encode()
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
      back_up; back_up --full; "$BP" copy -q set far; cp -a far far2; newest=$(ls set/*.manifest.age | tail -1); mine=$XDG_STATE_HOME; export XDG_STATE_HOME=\(state)
      forge far \(forged.stamp) \(forged.sequence); forge far2 \(forged.stamp) \(forged.sequence); forge far2 20200101T000001Z $((\(forged.sequence) + 1))
      for far in far far2; do "$BP" copy -q --copy-keep-last 1 set $far; echo $?; ls $far/$(basename $newest) >/dev/null && "$BP" restore -q -i key --at $(echo $newest | grep -o '[0-9T]*Z') -C out.$far $far && diff -r src out.$far$PWD/src; done
      forge set \(forged.stamp) \(forged.sequence); "$BP" prune -q --keep-last 1 -i key set 2>errors; echo $?; grep -c 'nothing is removed' errors; "$BP" prune -q --keep-last 1 set; echo $?
      "$BP" restore -q -i key --at $(echo $newest | grep -o '[0-9T]*Z') -C out set && diff -r src out$PWD/src && echo restored
      export XDG_STATE_HOME=$mine; rm -r out; back_up --keep-last 1 2>/dev/null; check
      """)
    #expect(
      run.text == "0\n0\n1\n1\n0\nrestored\nrestored\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a copy of the manifest that another user can have written is not used", .enabled(if: Host.canChangeUser),
    arguments: [
      "chown 1234 M", "chown 1234 M/*.manifest", "chown 1234 M/*.sha256", "chmod o+w M", "chmod o+w M/*",
    ])
  func foreignCopy(change: String) throws {
    let run = try run(
      """
      back_up; M=$XDG_STATE_HOME/batchproc/manifests; \(change.replacing("M", with: "$M")); back_up 2>errors; echo $?; cat errors | wc -l; kinds
      """)
    #expect(run.text == "0\n1\nfull full ", "\(run.text)\(run.errorText)")
  }

  private static let flip =
    "python3 -c 'import sys; f = open(sys.argv[1], \"r+b\"); f.seek(3000); b = f.read(1); f.seek(3000); f.write(bytes([b[0] ^ 1]))'"

  @Test("the report shows the last drill, and the damage that it found", .enabled(if: Host.hasPython))
  func report() throws {
    let run = try run(
      """
      back_up; "$BP" report set | grep -c 'damage found'; "$BP" drill -q --all -i key set; "$BP" report set | grep -c 'no damage found'
      python3 -c 'import sys
      with open(sys.argv[1], "r+b") as f: f.seek(3000); b = f.read(1); f.seek(3000); f.write(bytes([b[0] ^ 1]))' set/*.tar.zst.age
      "$BP" drill -q --all -i key set >/dev/null 2>&1; echo $?; "$BP" report set | grep -c '>damage found<'
      """)
    #expect(run.text == "0\n1\n4\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("a passphrase opens and continues a set when the copy of the manifest is gone")
  func passphrase() throws {
    let run = try t.shell(
      """
      echo pass >pass; chmod 600 pass; back_up() { "$BP" backup -q --to set --passphrase-file pass src; }
      back_up; rm -r "$XDG_STATE_HOME"/batchproc/manifests; echo new >src/new; back_up
      "$BP" restore -q --passphrase-file pass -C out set && diff -r src out$PWD/src && echo restored
      "$BP" snapshots --passphrase-file pass set | grep -c '+1'
      """)
    #expect(run.text == "restored\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("the commands for stock tools in docs/backup.md restore a full snapshot")
  func stock() throws {
    let run = try run(
      """
      back_up; mkdir out; age -d -i key set/*.tar.zst.age | tar -C out --zstd -x && diff -r src out$PWD/src && echo restored
      age -d -i key set/*.manifest.age | jq -r 'select(.sha256) | .path' | wc -l
      """)
    #expect(run.text == "restored\n4\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "each day is restored after the copy of the manifest was lost once, and no plain name is in the set"
  )
  func days() throws {
    let run = try run(
      """
      last=\(max(6, Campaign.cases(30))); cat >change.py <<'EOF'
      import os, random, sys
      r = random.Random(sys.argv[1])
      for n in range(5):
          open('src/plainname%d' % r.randrange(20), 'wb').write(b'plaincontent' + r.randbytes(3000))
      for f in os.listdir('src'):
          if r.random() < 0.1 and os.path.isfile('src/' + f): os.remove('src/' + f)
      EOF
      for day in $(seq $last); do python3 change.py $day; test $day = $((last / 2)) && rm -r "$XDG_STATE_HOME"/batchproc/manifests
        "$BP" backup --to set --encrypt-to "$(cat recipient)" src 2>>log; cp -a src day.$day; done
      grep -c 'so this snapshot is full' log; day=0
      for id in $("$BP" snapshots set | cut -d' ' -f1); do day=$((day + 1)); rm -rf out
        "$BP" restore -q -i key --at $id -C out set 2>/dev/null; diff -r day.$day out$PWD/src || echo different $day; done
      test $day = $last && echo all; grep -rlaE 'plainname|plaincontent' set
      """, seconds: 280)
    #expect(run.text == "1\nall\n", "\(run.text)\(run.errorText)")
  }
}
