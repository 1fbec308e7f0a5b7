import TestSupport
import Testing

/// Restores of snapshots with damaged and missing archives.
@Suite(.enabled(if: Host.hasPython && Host.canPreload), .timeLimit(.minutes(4)))
struct RestoreDamageTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.preloadClock()
    let made = try t.shell(
      """
      umask 077
      mkdir -p src/d
      for n in $(seq 60); do head -c 200K /dev/urandom >src/f$n; done
      ln src/f7 src/hard
      echo x >src/d/x
      "$BP" keygen -o key >recipient
      export LD_PRELOAD=$PWD/preload.so
      back_up() {
        "$BP" backup -q --to set src
        "$BP" backup -q --to sealed --encrypt-to-file recipient src
      }
      SHIFT=86400 back_up
      echo new >src/new
      SHIFT=172800 back_up
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// Damage of the archive of the first snapshot.
  struct Damage: Sendable {
    let script: String
    /// How many of the 62 files of the archive may be lost.
    let lost: Int
    /// The same for an encrypted archive, which is read only if its last part is whole.
    let lostSealed: Int
    /// The status of a restore of the unencrypted set.
    var status = 5

    static let all = [
      Damage(script: "f.seek(size // 3); f.write(b'12345678')", lost: 12, lostSealed: 24),
      Damage(script: "f.seek(size // 2); f.write(b'12345678')", lost: 12, lostSealed: 24),
      // The index; then also a place that is read without it.
      Damage(script: "f.seek(size - 400); f.write(b'x' * 200)", lost: 0, lostSealed: 62, status: 0),
      Damage(
        script: "f.seek(size - 400); f.write(b'x' * 200); f.seek(size // 2); f.write(b'12345678')", lost: 40,
        lostSealed: 62),
      Damage(script: "f.truncate(size * 3 // 4)", lost: 30, lostSealed: 62),
      Damage(script: "os.remove(sys.argv[1])", lost: 62, lostSealed: 62),
    ]
  }

  @Test(
    "everything that is whole is restored, the rest is named, and both are the same for each concurrency",
    arguments: [("set", ""), ("sealed", "-i key")])
  func whole(name: String, key: String) throws {
    try t.shell("cp -a \(name) undamaged")
    for damage in Damage.all {
      let run = try t.shell(
        """
        rm -rf \(name) out? out??
        cp -a undamaged \(name)
        python3 - $(ls \(name)/*.tar.zst* | head -1) <<'EOF'
        import os, sys
        f = open(sys.argv[1], 'r+b')
        size = os.path.getsize(sys.argv[1])
        \(damage.script)
        EOF
        for j in 1 2 7 32; do
          mkdir out$j
          "$BP" restore -q -j $j \(key) -C out$j \(name) >m$j 2>&1
          echo $? >>m$j
          cmp m1 m$j
          diff -r out1 out$j
        done
        python3 - <<'EOF'
        import os
        root, text, lost = os.getcwd()[1:], open('m1').read(), 0
        for folder, _, files in os.walk('src'):
            for file in files:
                path = os.path.join(folder, file)
                restored = os.path.join('out1', root, path)
                if not os.path.exists(restored):
                    lost += 1
                    if f'{root}/{path}: ' not in text: print('not named', path)
                elif open(path, 'rb').read() != open(restored, 'rb').read(): print('other bytes', path)
        if not os.path.exists(os.path.join('out1', root, 'src/new')): print('the increment is not restored')
        print(text.splitlines()[-1], lost)
        EOF
        """, seconds: 120)
      let found = "\(damage.script): \(run.text)\(run.errorText)"
      let counts = run.text.split(whereSeparator: \.isWhitespace).map { Int($0) ?? -1 }
      try #require(counts.count == 2, "\(found)")
      let isSealed = name == "sealed"
      #expect(counts[0] == (isSealed ? 5 : damage.status), "\(found)")
      #expect((counts[0] == 0) == (counts[1] == 0), "\(found)")
      #expect(counts[1] <= (isSealed ? damage.lostSealed : damage.lost), "\(found)")
    }
  }

  @Test("--strict ends at the first damage, and refuses a missing archive; --keep-going changes nothing")
  func strict() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      a=$(ls set/*.tar.zst | head -1)
      printf 12345678 | dd of=$a bs=1 seek=$(($(stat -c %s $a) / 2)) conv=notrunc status=none
      count() { find $1 -type f | wc -l; }
      ends "restore" "$BP" restore -q -C one set 2>e1
      ends "restore --keep-going" "$BP" restore -q --keep-going -C two set 2>e2
      ends "the same messages" cmp e1 e2
      "$BP" restore -v --keep-going -C verbose set 2>e2
      counts "the note" "batchproc: --keep-going is deprecated: leave it out, because a restore continues" <e2
      ends "the same files" diff -r one two
      ends "most files are restored" test $(count one) -gt 55
      ends "restore --strict" "$BP" restore -q --strict -C three set 2>e3
      ends "fewer files are restored" test $(count three) -lt $(count one)
      counts "restore names --strict" 'leave out --strict' <e3
      ends "extract" "$BP" extract -q -C four $a 2>e4
      counts "extract names --keep-going" 'add --keep-going' <e4
      rm $a
      ends "restore --strict without the archive" "$BP" restore -q --strict -C five set 2>/dev/null
      ls five 2>/dev/null | says "its files"
      rm set/*.tar.zst
      ends "restore without any archive" "$BP" restore -q -C six set 2>/dev/null
      """)
    run.expectSteps([
      "restore": "5", "restore --keep-going": "5", "the same messages": "0", "the note": "1",
      "the same files": "0",
      "most files are restored": "0", "restore --strict": "5", "fewer files are restored": "0",
      "restore names --strict": "1", "extract": "5", "extract names --keep-going": "1",
      "restore --strict without the archive": "1", "its files": "", "restore without any archive": "1",
    ])
  }
}
