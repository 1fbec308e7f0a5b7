import BatchEngine
import TestSupport
import Testing

/// `-a blake3`, compared with the stock tool `b3sum`.
@Suite(.timeLimit(.minutes(3))) struct StockBlake3Tests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test func rowsAreThoseOfB3sum() throws {
    try t.writeTree()
    try t.shell(
      "head -c 9000000 /dev/urandom >t/large; head -c 140000000 /dev/zero >t/huge; : >'t/back\\\\slash'")
    let run = try t.shell(
      """
      find t -type f -print0 | LC_ALL=C sort -z | xargs -0 b3sum | sort >theirs
      for j in 1 2 7 32; do $BP hash -q -j $j -a blake3 t | sort | cmp - theirs; echo $?; done
      $BP hash -q -a blake3 t >ours; b3sum --check ours >/dev/null; echo $?
      """)
    #expect(run.text == "0\n0\n0\n0\n0\n", "\(run.text) \(run.errorText)")
  }

  @Test func manifestsOfB3sumAreChecked() throws {
    try t.writeTree()
    try t.shell("head -c 9000000 /dev/urandom >t/large; find t -type f | xargs b3sum >m")
    for options in [["check", "--quiet", "m"], ["check", "--quiet", "-a", "blake3", "m"]] {
      let run = try t.batchproc(options.map { .init($0) })
      #expect(run.status == 0, "\(run.text)\(run.errorText)")
    }
    try t.shell("printf damaged | dd of=t/large bs=1 seek=5000000 conv=notrunc 2>/dev/null")
    let run = try t.batchproc("check", "--quiet", "m")
    #expect(run.status == 4)
    #expect(run.text == "t/large: FAILED\n")
  }

  @Test func taggedRowsAndOtherFormsAreReadAgain() throws {
    try t.writeTree()
    for format in ["bsd", "json", "gnu"] {
      let run = try t.shell("$BP hash -q -a blake3 --format \(format) t >m; $BP check --quiet m; echo $?")
      #expect(run.text == "0\n", "\(format): \(run.text)\(run.errorText)")
    }
    #expect(
      try t.batchproc("hash", "-q", "--tag", "-a", "blake3", "t/text").text.hasPrefix("BLAKE3 (t/text) = "))
  }
}
