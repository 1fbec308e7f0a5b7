import BatchEngine
import TestSupport
import Testing

/// Recovery data that `par2` and this program read from each other.
@Suite(.timeLimit(.minutes(5))) struct ParityStockTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Writes a file of random bytes.
  private func file(_ name: PathBytes, _ size: Int, seed: UInt64 = 1) throws {
    var numbers = SeededNumbers(seed: seed &+ UInt64(size))
    try t.file(name, numbers.bytes(size))
  }

  private static let sizes = [1, 3, 4, 5, 100, 4095, 4096, 4097, 16_383, 16_384, 16_385, 50_000, 300_001]

  @Test("par2 verifies and repairs what we write", arguments: sizes)
  func ours(size: Int) throws {
    try file("f", size)
    let run = try t.shell("cp f whole; $BP parity create --parity 20% f")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("par2 v f.par2").status == 0)
    let repair = try t.shell(
      "printf x | dd of=f bs=1 seek=\(size / 2) conv=notrunc status=none; cmp -s f whole || par2 r f.par2 && cmp f whole"
    )
    #expect(repair.status == 0, "\(repair.text)")
    #expect(
      try t.shell(
        "rm f; $BP parity create -c 200 -s 4096 whole && mv whole gone; par2 r whole.par2; cmp whole gone"
      ).status == 0)
  }

  @Test(
    "we verify and repair what par2 writes",
    arguments: [
      "", "-s8000", "-b7", "-u", "-l", "-n3", "-r50", "-c3 -f20", "-n1 -s4", "-b40 -r100",
    ])
  func theirs(options: String) throws {
    for (index, size) in [1, 17, 4096, 40_001].enumerated() { try file(PathBytes("f \(index)"), size) }
    try file(PathBytes([UInt8(ascii: "n"), 0xFF, 0xC3, 0x28]), 9000)
    try t.file("empty", "")
    let small = options.contains("-s4")
    let files = small ? "'f 1' 'f 2'" : "f* n* empty"
    #expect(try t.shell("par2 c -q -q \(options) set.par2 \(files)").status == 0)
    let verify = try t.shell("$BP parity verify set.par2; $BP parity verify -q set")
    #expect(verify.status == 0, "\(verify.text) \(verify.errorText)")
    let repair = try t.shell(
      """
      cp 'f 2' whole; printf xyz | dd of='f 2' bs=1 seek=2000 conv=notrunc status=none; rm 'f 1'
      $BP parity verify set; test $? = 4 || exit 9; $BP parity repair set && cmp 'f 2' whole && par2 v set.par2
      """)
    let isPossible = !["-b7", "-s8000"].contains(options) && !options.hasPrefix("-c3")
    if isPossible || repair.status == 0 {
      #expect(
        repair.status == 0 || repair.errorText.contains("not repairable"),
        "\(repair.text) \(repair.errorText)")
    }
  }

  @Test func namesInFoldersAreThoseOfPar2() throws {
    try t.folder("dir/e")
    try file("dir/e/one", 5000)
    try file("dir/two", 20_000)
    #expect(
      try t.shell("par2 c -q -q -R -r20 -B\"$PWD\" theirs.par2 dir; $BP parity verify theirs").status == 0)
    #expect(
      try t.shell("$BP parity create --base . -R -r 30 ours.par2 dir && par2 v -B\"$PWD\" ours.par2").status
        == 0)
    let run = try t.shell("rm -r dir/e; $BP parity repair ours && par2 v -B\"$PWD\" theirs.par2")
    #expect(run.status == 0, "\(run.text) \(run.errorText)")
    // A name of the set that leads out of its folder is refused, and so is a file outside of it.
    let outside = try t.shell("mkdir x; $BP parity create x/a.par2 dir/two")
    #expect(outside.status == 1 && outside.errorText.contains("--base"), "\(outside.errorText)")
  }

  @Test func manyFilesAreOneSet() throws {
    for index in 0..<300 { try file(PathBytes("f\(index)"), index * 37 % 5000 + 1) }
    let run = try t.shell(
      """
      $BP parity create -v --volumes 3 --block-count 400 --parity-blocks 30 all.par2 f* && par2 v all.par2 &&
      cat f7 f9 f100 | sha256sum >sum && rm f7 f100 && echo >>f9 && $BP parity repair --force all && cat f7 f9 f100 | sha256sum -c sum
      """)
    #expect(run.status == 0, "\(run.text) \(run.errorText)")
    #expect(t.names().filter { $0.bytes.starts(with: Array("all.vol".utf8)) }.count == 3)
    #expect(!t.exists("f9.damaged"))
  }

  @Test func recoveryDataAreTheSameAtAnyConcurrency() throws {
    try file("f", 700_000)
    let run = try t.shell(
      """
      for j in 1 2 5; do $BP parity create -j $j --force f || exit; cat f.par2 f.vol*; done | split -n 3 - part.
      cmp part.aa part.ab && cmp part.ab part.ac
      $BP parity create -q --max-memory 300K --block-size 65536 -r 60 --force f; sha256sum f.*par2 >small
      $BP parity create -q --block-size 65536 -r 60 --force f; sha256sum -c small
      """)
    #expect(run.status == 0, "\(run.text) \(run.errorText)")
  }

  @Test func anArchiveIsWrittenWithRecoveryData() throws {
    try file("tree/a", 100_000)
    try file("tree/b", 30_000)
    let run = try t.shell(
      """
      $BP archive --verify --parity 10% -o a.tar.zst tree && par2 v a.tar.zst.par2 && cp a.tar.zst whole &&
      printf damage | dd of=a.tar.zst bs=1 seek=50000 conv=notrunc status=none
      $BP verify a.tar.zst 2>advice; test $? = 4 && grep -q "repairable, with 1 of" advice && $BP parity repair a.tar.zst && cmp a.tar.zst whole && $BP verify a.tar.zst
      """)
    #expect(run.status == 0, "\(run.text) \(run.errorText)")
    #expect(try t.shell("$BP archive --parity-blocks 2 -o b.tar tree; ls b.tar.vol0+2.par2").status == 0)
    #expect(try t.shell("$BP archive --parity 5% -o - tree >c.tar").status == 64)
    #expect(try t.shell("$BP archive --parity 10% -o a.tar.zst tree").status == 1)
  }
}
