import BatchEngine
import Foundation
import TestSupport
import Testing

/// Recovery data are a part of their snapshot, and repair its files.
@Suite(.enabled(if: Host.hasPython), .timeLimit(.minutes(5))) struct ParityBackupTests {
  private let t: TreeFixture

  /// `damage FILE PLACE...` flips a bit at each place. `later` waits until the next second has begun, so that the next snapshot has
  /// another id than one that was just made, or that a killed run has begun.
  private static let functions = """
    damage() { python3 - "$@" <<'PYTHON'
    import sys, os
    with open(sys.argv[1], 'r+b') as file:
        size = os.fstat(file.fileno()).st_size
        for word in sys.argv[2:]:
            place = int(word) % size
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([byte[0] ^ 1]))
    PYTHON
    }
    later() {
      local end now
      printf -v end '%(%s)T' -1
      until printf -v now '%(%s)T' -1; [ $now -gt $end ]; do sleep 0.05; done
    }
    """

  init() throws {
    t = try TreeFixture()
    let made = try t.shell("mkdir src; for i in $(seq 40); do head -c 9000 /dev/urandom >src/f$i; done")
    try #require(made.status == 0)
  }

  private func run(_ script: String) throws -> Outcome {
    try t.shell("\(Self.functions)\n\(script)", seconds: 120)
  }

  @Test("a closed standard output is no failure of a file")
  func closedOutput() throws {
    let run = try run(
      """
      $BP backup -q --parity 5% --to set src; sha256sum set/b* >sums
      damage $(ls set/*.tar.zst) 5000; exec 3> >(:); wait $!
      $BP repair set >&3; echo $?; exec 3>&-; $BP repair -q set >names; sha256sum -c --quiet sums; echo $?
      """)
    #expect(run.text == "141\n0\n" && !run.errorText.contains("not repaired"), "\(run.text) \(run.errorText)")
  }

  @Test(
    "archives and manifests have recovery data, and are repaired without a key", arguments: [false, true])
  func sets(isEncrypted: Bool) throws {
    let run = try run(
      """
      set -e
      if \(isEncrypted); then $BP keygen -o key >/dev/null 2>&1; E="--encrypt-to $(grep -o 'age1[a-z0-9]*' key | head -1)"; K="-i key"; fi
      $BP backup -q --parity 5% $E --to set src
      later; seq 2000 >src/g; $BP backup -q --parity-blocks 3 $E --to set src
      for f in $(ls set/*.zst set/*.age 2>/dev/null | sort -u); do par2 v -q -q $f.par2; done
      [ $(stat -c %a set/* | sort -u) = 600 ]
      sha256sum set/b* >sums
      A=$(ls set/*.tar.zst* | head -1); M=$(ls set/*.manifest.zst* | head -1)
      damage $A 5000 90000 200000; damage $M 100 600
      ! $BP repair set --name other 2>/dev/null
      $BP backup -q --init --to bare src; ! $BP repair bare 2>none; grep -q "so nothing was compared" none
      $BP verify set $K >found 2>&1 || echo $?; grep -c "batchproc repair" found
      $BP repair set >found || echo failed; grep -c repaired found
      $BP verify -q set $K; sha256sum -c --quiet sums
      $BP snapshots set 2>&1 >/dev/null | grep -c "that a repair has replaced"
      rm $M; $BP repair -q set >names; sha256sum -c --quiet sums; [ $(stat -c %a set/b* | sort -u) = 600 ]
      damage $A 77; $BP repair -q --force $A >names; [ $(ls set | grep -c damaged) = 2 ]; sha256sum -c --quiet sums
      $BP prune -q --keep-last 5 set; [ $(ls set | grep -c damaged) = 0 ]; sha256sum -c --quiet sums
      """)
    #expect(run.status == 0 && run.text == "4\n1\n2\n2\n", "\(run.text) \(run.errorText)")
  }

  @Test func tooMuchDamageChangesNothing() throws {
    let run = try run(
      """
      $BP backup -q --parity-blocks 2 --to set src
      A=$(ls set/*.tar.zst); sha256sum $A >whole
      damage $A 1000 9000 20000; ls -i set >names; sha256sum set/b* >sums
      $BP repair set >found 2>&1; echo $?; grep -c "3 blocks are missing, and there are 2 recovery blocks" found
      ls -i set | cmp - names; sha256sum -c --quiet sums
      $BP drill --all set 2>&1 | grep -c "batchproc repair"; $BP restore -C out set 2>&1 | grep -c "batchproc repair"
      damage $A 1000; $BP repair -q set >names; echo $?; sha256sum -c --quiet whole
      """)
    #expect(run.text == "4\n1\n1\n1\n0\n", "\(run.text) \(run.errorText)")
  }

  @Test func aMissingArchiveIsRebuilt() throws {
    let run = try run(
      """
      $BP backup -q --parity 100% --to set src; later; $BP backup -q --to set src
      sha256sum set/b* >sums; rm set/*.tar.zst
      $BP repair set >found 2>&1; echo $?; sha256sum -c sums 2>/dev/null | grep -c FAILED; grep -c "has no recovery data" found
      $BP restore -q -C out --at $(ls set/*.manifest.zst | head -1 | grep -o '2[0-9TZ]*') set; echo $?; diff -r src out$PWD/src
      """)
    // The second archive has no recovery data.
    #expect(run.text == "4\n1\n1\n0\n", "\(run.text) \(run.errorText)")
  }

  @Test func removalsAndCompactionTakeTheRecoveryData() throws {
    let run = try run(
      """
      $BP backup -q --parity 10% --to set src; later; rm src/f[1-3]?; $BP backup -q --parity 10% --to set src
      later; rm src/f?; seq 9 >src/n; echo kept >set/note.par2; A=$(ls set/*.tar.zst | head -1); cp set/note.par2 $A.mine.par2
      par2 c -q -q $A.vol1+1.par2 $A $(ls set/*.tar.zst | tail -1) >/dev/null
      $BP prune -q --keep-last 1 set
      ls set/*.manifest.zst.par2 | wc -l; for f in set/*.zst; do par2 v -q -q $f.par2 >/dev/null || echo $f; done
      damage $A 900; $BP repair -q $A >names; echo $?; $BP verify -q set; echo $?; rm set/*damaged
      $BP backup -q --full --parity 10% --to set src; later; $BP prune -q --keep-last 1 set
      ls set | grep -v "^b.*manifest$" | wc -l; cat set/note.par2 $A.mine.par2; ls $A.vol1+1.par2 >/dev/null; echo $?
      """)
    // Two files of the newest snapshot with two files of recovery data each, its blocks, and ten that are not ours.
    #expect(run.text == "1\n0\n0\n17\nkept\nkept\n0\n", "\(run.text) \(run.errorText)")
  }

  @Test func copiesHaveTheRecoveryData() throws {
    let run = try run(
      """
      $BP backup -q --parity 10% --to set src; $BP copy -q set far; for f in set/b*; do cmp $f far/$(basename $f); done 2>&1 | grep -v blocks
      A=$(ls far/*.tar.zst); damage $A 3000; damage $A.par2 90; $BP repair -q far >names 2>&1; echo $?; $BP verify -q far; echo $?; grep -c "made again" names
      $BP copy -q --checksum set far; cmp $A set/$(basename $A) && $BP verify -q far; echo $?
      damage $(ls set/*.tar.zst).par2 70; $BP copy -q --checksum set far; echo $?; $BP verify -q far; echo $?; $BP verify -q set; echo $?
      mkdir plain; $BP backup -q --to plain/set src; $BP copy -q --parity 20% plain/set plain/far; ls plain/set | grep -c par2
      for f in plain/far/*.zst; do par2 v -q -q $f.par2 || echo $f; done
      $BP copy -q --parity-blocks 9 plain/set plain/far; echo $?; ls plain/far/*.par2 | wc -l
      $BP copy --parity 5% plain/set remote:x 2>&1 | grep -c "needs a directory"
      $BP copy -q --copy-keep-last 1 set far; $BP prune -q --keep-last 1 far; ls far/*.par2 | wc -l
      """)
    #expect(run.text == "0\n0\n1\n0\n3\n0\n4\n0\n0\n4\n1\n4\n", "\(run.text) \(run.errorText)")
  }

  @Test func aBackupThatIsKilledLeavesNoRecoveryData() throws {
    guard Host.canTrace else { return }
    let run = try run(
      """
      $BP backup -q --parity 10% --to set src; ls set | grep -c par2
      for n in 1 2 3 4 5 6 7 8; do
        later; seq $n >src/n$n
        strace -qq -f -o trace -e trace=renameat,renameat2,linkat -e inject=renameat,renameat2,linkat:signal=KILL:when=$n \\
          $BP backup -q --parity 10% --to set src 2>/dev/null
        $BP verify -q set || echo damaged $n
      done
      later; $BP backup -q --parity 10% --to set src; echo $?
      for f in set/*.par2; do p=${f%.par2}; p=${p%.vol*}; [ -e $p ] || echo orphan $f; done
      for f in set/*.zst; do par2 v -q -q $f.par2 >/dev/null || echo $f; done; $BP verify -q set
      """)
    #expect(run.text == "4\n0\n", "\(run.text) \(run.errorText)")
  }
}
