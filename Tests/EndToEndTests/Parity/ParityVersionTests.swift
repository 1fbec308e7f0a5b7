import BatchEngine
import TestSupport
import Testing

/// Recovery data belong to one version of a file.
@Suite(.timeLimit(.minutes(5))) struct ParityVersionTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let made = try t.shell("mkdir src; for i in $(seq 20); do head -c 9000 /dev/urandom >src/f$i; done")
    try #require(made.status == 0)
  }

  @Test func anArchiveThatIsReplacedTakesItsRecoveryDataAlong() throws {
    let run = try t.shell(
      """
      $BP archive -q --parity 20% -C src -o a.tar.zst .; cp a.tar.zst old.tar.zst
      par2 c -q -q -n1 a.tar.zst.vol9+9.par2 a.tar.zst old.tar.zst >/dev/null; echo mine >a.tar.zst.notes.par2; ls *.par2 | wc -l
      echo new >src/new; $BP archive -q --force -o a.tar.zst src; ls *.par2
      $BP archive -q --force --parity 20% -o a.tar.zst src; echo more >>src/new; $BP archive -q --force --parity 10% -o a.tar.zst src
      ls a.tar.zst.par2 a.tar.zst.vol*0*.par2 | grep -v vol9 | wc -l; par2 v -q -q a.tar.zst.par2; echo $?
      rm a.tar.zst; $BP archive --parity 5% -o a.tar.zst src 2>&1 | grep -c "exists already"
      """)
    #expect(
      run.text == """
        5
        a.tar.zst.notes.par2
        a.tar.zst.vol9+9.par2
        a.tar.zst.vol9+9.vol00+99.par2
        2
        0
        1

        """, "\(run.text) \(run.errorText)")
  }

  @Test("a repair never brings an earlier version of an archive back")
  func anArchiveOfAnotherVersionIsRefused() throws {
    let run = try t.shell(
      """
      $BP archive -q -o a.tar.zst src; $BP parity create -q --parity 200% a.tar.zst; cp a.tar.zst whole; sha256sum a.tar.zst >old
      echo new >src/new; $BP archive -q -o b.tar.zst src; mv b.tar.zst a.tar.zst; sha256sum a.tar.zst >new
      for c in "repair" "parity repair"; do $BP $c a.tar.zst >/dev/null 2>errors; echo $?; grep -c "another version of it" errors; done
      sha256sum -c --quiet new; printf damage | dd of=a.tar.zst bs=1 seek=3000 conv=notrunc status=none
      sha256sum a.tar.zst >damaged; $BP repair -q --force a.tar.zst >/dev/null 2>&1; echo $?; sha256sum -c --quiet damaged
      # One whose index is damaged too is not known to be another one; it is kept.
      cp whole a.tar.zst; printf damage | dd of=a.tar.zst bs=1 seek=3000 conv=notrunc status=none
      $BP repair -q a.tar.zst >/dev/null; echo $?; sha256sum -c --quiet old; ls a.tar.zst.damaged
      # Too little of another version is left: it is named all the same.
      $BP parity create -q --force -c 1 a.tar.zst; head -c 90000 /dev/urandom >src/a; $BP archive -q -o b.tar.zst src; mv b.tar.zst a.tar.zst
      $BP repair a.tar.zst 2>&1 >/dev/null | grep -c "another version of it"
      """)
    #expect(
      run.text.replacing("\n", with: " ").contains("1 1 1 1 1 0 a.tar.zst.damaged 1 "),
      "\(run.text) \(run.errorText)")
    #expect(!run.text.contains("FAILED"), "\(run.text) \(run.errorText)")
  }

  @Test func recoveryDataOfTheVersionThatIsThereAreUsed() throws {
    let run = try t.shell(
      """
      head -c 90000 /dev/urandom >f; $BP parity create -q -c 3 f; mkdir old; mv f.vol* old/f.vol0+9.par2
      head -c 70000 /dev/urandom >f; $BP parity create -q --force -c 2 f; mv old/* .; cp f whole
      printf x | dd of=f bs=1 seek=40000 conv=notrunc status=none; $BP repair -q f >/dev/null; echo $?; cmp f whole; ls f.*
      $BP parity create -q --force -c 3 f; ls f.*
      """)
    #expect(
      run.text == "0\nf.damaged\nf.par2\nf.vol0+2.par2\nf.vol0+9.par2\nf.damaged\nf.par2\nf.vol0+3.par2\n",
      "\(run.text) \(run.errorText)")
  }

  @Test("files that hold blocks of each other are repaired in one run", arguments: [40, 150])
  func exchangedFiles(count: Int) throws {
    let run = try t.shell(
      """
      mkdir d; cd d; for i in $(seq \(count)); do head -c 4096 /dev/urandom >f$i; done; sha256sum f* >../sums
      $BP parity create -q -c 1 set.par2 f*; mv f1 x; for i in $(seq 2 \(count)); do mv f$i f$((i - 1)); done; mv x f\(count)
      $BP parity repair -q --force set >/dev/null; echo $?; sha256sum -c --quiet ../sums; ls | wc -l
      """)
    #expect(run.text == "0\n\(count + 2)\n", "\(run.text) \(run.errorText)")
  }

  @Test func aMergedArchiveTakesRecoveryDataAlong() throws {
    let run = try t.shell(
      """
      $BP plan -q --shards 2 --out plan -- archive -o m.tar.zst src; for i in 0 1; do $BP archive -q --plan plan --shard $i; done
      $BP merge -q plan; $BP parity create -q m.tar.zst; $BP merge -q --force plan; echo $?; ls m.*
      """)
    #expect(run.text == "0\nm.tar.zst\n", "\(run.text) \(run.errorText)")
  }
}
