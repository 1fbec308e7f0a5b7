import TestSupport
import Testing

/// Files with large holes are hashed and compressed without reading the holes, and left out above a limit.
@Suite(.timeLimit(.minutes(3))) struct HoleTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test(
    "a file of exbibytes is named and left out by each command that would read its zeros",
    arguments: [1, 2, 7, 32])
  func huge(concurrency: Int) throws {
    let run = try t.shell(
      """
      mkdir t; seq 1000 >t/a; truncate -s 7E t/huge; seq 2000 >t/z
      for command in 'hash' 'hash -a blake3' 'compress --output-dir out' 'compress --compress-all -c' 'archive -o x.zip'; do
        $BP $command -q -j \(concurrency) t 2>&1 >/dev/null | sed 's/^batchproc: //'; echo ${PIPESTATUS[0]}
      done
      (cd out/t; ls); unzip -Z1 x.zip
      (sha256sum t/a; echo "$(printf '%064d' 0)  t/huge") >m; $BP check -q -j \(concurrency) m 2>&1 | sed 's/^batchproc: //'
      """)
    let named = "t/huge: has more than 1 TiB of holes, and is not read (--max-hole allows more)\n3\n"
    #expect(
      run.text.hasPrefix(String(repeating: named, count: 5) + "a.gz\nz.gz\nt/\nt/a\nt/z\n"),
      "\(run.text)\(run.errorText)")
    #expect(run.text.contains("t/huge: has more than 1 TiB of holes"))
  }

  @Test("--max-hole sets the limit, and a tar archive has no limit")
  func limit() throws {
    let run = try t.shell(
      """
      truncate -s 3M f; sha256sum f >m; $BP hash -q --max-hole 3M f | cmp m -; echo $?
      $BP hash -q --max-hole 2M f m 2>&1 >/dev/null; echo $?
      truncate -s 7E g; $BP archive -q -o x.tar.zst g; echo $?; $BP verify -q x.tar.zst; echo $?
      """)
    #expect(
      run.text
        == "0\nbatchproc: f: has more than 2 MiB of holes, and is not read (--max-hole allows more)\n3\n0\n0\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("digests and outputs equal those of the full content", arguments: [1, 2, 7, 32])
  func same(concurrency: Int) throws {
    let run = try t.shell(
      """
      # Blocks of 1 MiB are content, holes, and both, and those of 8 MiB are holes and both; one piece of content lies in two blocks of 8 MiB.
      seq 200000 >f
      for at in 127 160 400; do seq 20000 | dd of=f bs=64K seek=$at conv=notrunc iflag=fullblock status=none; done
      truncate -s 33M f; cat f >whole
      for a in sha256 blake3 xxh3 crc32; do
        $BP hash -q -j \(concurrency) -a $a f whole | cut -d' ' -f1 | uniq | wc -l
      done
      for format in gz zst lz4; do
        for file in f whole; do $BP compress -q -j \(concurrency) --format $format -c $file | sha256sum; done | uniq | wc -l
      done
      """)
    #expect(run.text == String(repeating: "1\n", count: 7), "\(run.text)\(run.errorText)")
  }
}
