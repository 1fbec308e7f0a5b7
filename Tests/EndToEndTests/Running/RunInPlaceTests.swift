import TestSupport
import Testing

/// A command that changes files: each file is the old one or the complete new one, and is changed once.
@Suite(.timeLimit(.minutes(3))) struct RunInPlaceTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      "mkdir d; for n in $(seq 20); do echo a$n >d/f$n; done; echo b >d/plain; chmod 750 d/f1; setfattr -n user.note -v hi d/f1"
    )
  }

  @Test(
    "a file is processed once, keeps its mode and attributes, and gets the present time",
    arguments: [1, 2, 7, 32])
  func once(concurrency: Int) throws {
    let run = try t.shell(
      """
      touch -d 2001-01-01 d/*; i=$(stat -c %i d/plain)
      for n in 1 2; do "$BP" run -j \(concurrency) --in-place d -- sed -i s/a/aa/ 2>>err; echo $?; done
      cat d/f1 d/f20; stat -c %a d/f1; getfattr --only-values -n user.note d/f1; [ d/f1 -nt d/plain ]; echo " $?"; [ $i = $(stat -c %i d/plain) ]; echo $?
      ls -A d | wc -l; grep -c '20 written, 20 replaced, 1 unchanged' err; grep -c '20 up to date' err
      echo a >d/f1; "$BP" run -q --in-place d -- sed -i s/a/aa/; cat d/f1 d/f2; "$BP" run -q --in-place d -- sed -i s/aa/x/; cat d/f2
      """)
    #expect(
      run.text == "0\n0\naa1\naa20\n750\nhi 0\n0\n21\n1\n1\naa\naa2\nx2\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a child that fails, is killed or makes no file leaves the source as it is",
    arguments: [
      "echo bad >\"$1\"; exit 1", "echo bad >\"$1\"; kill -9 $$", "rm \"$1\"", "rm \"$1\"; mkdir \"$1\"",
      "rm \"$1\"; ln -s /etc/passwd \"$1\"", "echo bad >\"$1\"; sleep 100",
      "echo bad >\"$1\"; ln \"$1\" \"$1.x\"",
    ])
  func failure(script: String) throws {
    let run = try t.shell(
      """
      cp -a d before; "$BP" run --timeout 1 --in-place d/f1 -- sh -c '\(script)' x; echo $?; diff -r d before; ls -A d | wc -l
      """)
    #expect(run.text == "3\n21\n", "\(run.text)\(run.errorText)")
  }

  @Test("a file that changed meanwhile, and a file with several names, are kept and named")
  func kept() throws {
    let run = try t.shell(
      """
      ln d/f1 d/f1.link; "$BP" run --in-place d/f1 -- sed -i s/a/x/; echo $?
      "$BP" run --in-place d/f2 -- sh -c 'echo new >d/f2; echo other >"$1"' x; echo $?; cat d/f1 d/f2
      """)
    #expect(run.text == "3\n3\na1\nnew\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("d/f1: has several names") && run.errorText.contains("d/f2: changed while"),
      "\(run.errorText)")
  }

  @Test("another try begins with the source again")
  func retry() throws {
    let run = try t.shell(
      """
      "$BP" run -q --retry 2 --in-place d/f1 -- sh -c 'echo $BATCHPROC_TRY >>"$1"; [ $BATCHPROC_TRY = 2 ]' x; echo $?; cat d/f1
      """)
    #expect(run.text == "0\na1\n2\n", "\(run.text)\(run.errorText)")
  }
}
