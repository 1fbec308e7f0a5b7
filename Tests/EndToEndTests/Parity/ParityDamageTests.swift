import BatchEngine
import TestSupport
import Testing

/// Damage of any kind is repaired if the recovery blocks suffice; otherwise nothing is changed.
@Suite(.timeLimit(.minutes(5))) struct ParityDamageTests {
  private let t: TreeFixture
  private static let blockSize = 512
  private static let blockCount = 60

  init() throws { t = try TreeFixture() }

  private func content(_ numbers: inout SeededNumbers) -> [UInt8] {
    numbers.bytes(Self.blockSize * Self.blockCount - 100)
  }

  /// Damages at most some blocks.
  private func damage(_ bytes: inout [UInt8], blocks: Int, _ numbers: inout SeededNumbers) {
    var rest = blocks
    while rest > 0 {
      let block = Int.random(in: 0..<(Self.blockCount - 1), using: &numbers)
      let start = block * Self.blockSize
      switch Int.random(in: 0..<6, using: &numbers) {
      case 0 where start < bytes.count: bytes[start] ^= 0x40
      case 1 where start + Self.blockSize <= bytes.count:
        bytes.replaceSubrange(
          start..<(start + Self.blockSize), with: [UInt8](repeating: 0, count: Self.blockSize))
      case 2 where bytes.count > Self.blockSize * 2: bytes.removeLast(Self.blockSize / 2)
      case 3 where start + 3 < bytes.count: bytes.remove(at: start + 3)
      case 4 where start < bytes.count: bytes.insert(7, at: start + 1)
      case 5 where rest >= 2 && bytes.count > Self.blockSize * 20:
        // Two blocks that change their places are still there.
        for index in 0..<Self.blockSize { bytes.swapAt(index, 10 * Self.blockSize + index) }
      default: continue
      }
      rest -= 2
    }
  }

  @Test func randomDamageIsRepaired() throws {
    var numbers = SeededNumbers(seed: 12)
    let whole = content(&numbers)
    try t.file("f", whole)
    #expect(try t.shell("$BP parity create -q -s \(Self.blockSize) -c 16 f").status == 0)
    for round in 0..<Campaign.costlyCases(1000) {
      var bytes = whole
      damage(&bytes, blocks: Int.random(in: 2...8, using: &numbers), &numbers)
      try t.file("f", bytes)
      let run = try t.shell("$BP parity repair -q --force --no-fsync f")
      #expect(run.status == 0 && t.content("f") == whole, "round \(round): \(run.text) \(run.errorText)")
      guard t.content("f") == whole else { return }
    }
  }

  @Test func oneBlockTooManyIsRefused() throws {
    var numbers = SeededNumbers(seed: 13)
    let whole = content(&numbers)
    try t.file("f", whole)
    #expect(try t.shell("$BP parity create -q -s \(Self.blockSize) -c 5 f").status == 0)
    for count in [5, 6] {
      var bytes = whole
      for block in 0..<count { bytes[block * 7 * Self.blockSize] ^= 1 }
      try t.file("f", bytes)
      let before = try t.shell("ls -1i; cat f* | sha256sum").text
      let verify = try t.shell("$BP parity verify f")
      #expect(
        verify.status == 4 && verify.errorText.contains(count == 5 ? "1 repairable" : "1 not repairable"))
      let run = try t.shell("$BP parity repair f")
      #expect(run.status == (count == 5 ? 0 : 4), "\(run.errorText)")
      #expect((try t.shell("ls -1i; cat f* | sha256sum").text == before) == (count == 6))
    }
    #expect(t.exists("f.damaged"))
  }

  @Test func damagedRecoveryDataAreUsedAsFarAsTheyAreWhole() throws {
    var numbers = SeededNumbers(seed: 14)
    let whole = content(&numbers)
    try t.file("f", whole)
    #expect(try t.shell("$BP parity create -q -s \(Self.blockSize) -c 10 f").status == 0)
    let volume = try #require(t.content("f.vol00+10.par2"))
    for _ in 0..<Campaign.cases(200) {
      var bytes = volume
      bytes[Int.random(in: bytes.indices, using: &numbers)] ^= 0xFF
      if Bool.random(using: &numbers) { bytes.removeLast(Int.random(in: 1...1000, using: &numbers)) }
      try t.file("f.vol00+10.par2", bytes)
      var damaged = whole
      for block in 0..<6 { damaged[block * 9 * Self.blockSize] ^= 1 }
      try t.file("f", damaged)
      let run = try t.shell("$BP parity repair -q --force --no-fsync f")
      #expect(run.status == 0 && t.content("f") == whole, "\(run.text) \(run.errorText)")
    }
    // Without the index, and with packets of another set.
    try t.file("f.vol00+10.par2", volume)
    let run = try t.shell(
      """
      cp f g; $BP parity create -q g; rm f.par2; printf 123 | dd of=f bs=1 seek=9 conv=notrunc status=none
      mv g.par2 f.vol1.par2; $BP parity repair f.vol00+10.par2 && cmp f g
      """)
    #expect(run.status == 0, "\(run.text) \(run.errorText)")
    #expect(try t.shell("$BP parity verify f.damaged; test $? = 1 && $BP parity verify").status == 64)
  }

  @Test func linksAreNotFollowed() throws {
    try t.file("secret", "secret")
    try t.folder("d/sub")
    try t.file("d/sub/f", Array(repeating: 5, count: 9000))
    #expect(try t.shell("$BP parity create -q --parity 300% d/set.par2 d/sub").status == 0)
    let run = try t.shell(
      """
      mv d/sub other; ln -s ../other d/sub; $BP parity verify d/set; a=$?; $BP parity repair d/set; echo $a $?; cat other/f | wc -c
      rm d/sub; mkdir d/sub; ln -s ../../secret d/sub/f; $BP parity repair --force d/set; echo $?; cat secret; ls -l d/sub/f | cut -c1
      """)
    #expect(
      run.text.contains("\n9000\n") && run.text.contains("secret") && run.text.hasSuffix("-\n"),
      "\(run.text) \(run.errorText)")
  }

  @Test func damagedSectorsAreReadAround() throws {
    try t.file("f", TreeFixture.content(200_000))
    try t.preload(
      """
      #include <stdio.h>
      #include <sys/types.h>
      ssize_t pread64(int file, void *buffer, size_t count, off_t offset) {
        static ssize_t (*real)(int, void *, size_t, off_t);
        if (!real) real = dlsym(RTLD_NEXT, "pread64");
        if (offset < 81920 && offset + (off_t)count > 77824) {
          char name[64], path[4096];
          snprintf(name, sizeof name, "/proc/self/fd/%d", file);
          ssize_t length = readlink(name, path, sizeof path - 1);
          if (length > 2 && path[length - 1] == 'f' && path[length - 2] == '/') { errno = EIO; return -1; }
        }
        return real(file, buffer, count, offset);
      }
      ssize_t pread(int file, void *buffer, size_t count, off_t offset) { return pread64(file, buffer, count, offset); }
      """)
    let run = try t.shell(
      "cp f whole; $BP parity create -q f && LD_PRELOAD=$PWD/preload.so $BP parity repair f; s=$?; cmp f whole && ls f.damaged && exit $s"
    )
    #expect(run.status == 0, "\(run.text) \(run.errorText)")
    #expect(run.text.contains("could not be read"), "\(run.text)")
  }
}
