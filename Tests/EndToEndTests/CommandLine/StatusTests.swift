import BatchEngine
import TestSupport
import Testing

/// When a command ends with 1 and when with 3: the same rule for all commands.
@Suite struct StatusTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test(
    "the status is 1 when no path can be read, and 3 when some can be", .enabled(if: Host.isRoot)
  )
  func nothingOrSomething() throws {
    let run = try t.shell(
      """
      mkdir closed open; echo a >closed/f; seq 1000 >open/f; gzip -k open/f; chmod 700 closed; chmod -R a+rwX open; chmod 777 .
      as() { setpriv --reuid=65534 --regid=65534 --clear-groups $BP "$@" >/dev/null 2>&1; printf '%s ' $?; }
      for c in hash compress test duplicates 'archive -o a.tar' decompress cat; do
        as $c closed; as $c none; as $c closed none; as $c closed open; rm -f a.tar; echo $c; done
      $BP archive -q -o a.tar open; for c in list 'extract -C out' 'extract -O'; do for g in none 'none open/f'; do
        $BP $c -q a.tar $g >/dev/null 2>&1; printf '%s ' $?; done; done; echo
      $BP backup -q --to set open; for g in none 'none f'; do $BP restore -q set -C back $g 2>/dev/null; printf '%s ' $?; done; echo
      echo damaged >open/d.gz; $BP decompress -q open/d.gz 2>/dev/null; echo $?
      """)
    #expect(
      run.text == """
        1 1 1 3 hash
        1 1 1 3 compress
        1 1 1 3 test
        1 1 1 3 duplicates
        1 1 1 3 archive -o a.tar
        1 1 1 3 decompress
        1 1 1 3 cat
        1 3 1 3 1 3\u{20}
        1 3\u{20}
        3

        """, "\(run.text)\(run.errorText)")
  }

  @Test("-v reports that the file of --control does not exist yet")
  func control() throws {
    let run = try t.shell(
      "echo a >f; $BP hash -v --control none f 2>&1 >/dev/null | grep -c 'not there yet'; $BP hash --control none f 2>&1 | grep -c 'not there'"
    )
    #expect(run.text == "1\n0\n")
  }

  @Test("tune --seconds accepts a duration")
  func durations() throws {
    try t.shell("mkdir t; seq 1000 >t/f")
    #expect(try t.batchproc("tune", "--seconds", "1s", "--max", "1", "t").status == 0)
    #expect(try t.batchproc("tune", "--seconds", "0.2", "t").status == 64)
  }
}
