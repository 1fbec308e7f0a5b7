import TestSupport
import Testing

/// The manifest that a mirror writes from the same read, and the comparison with what the target has.
@Suite(.timeLimit(.minutes(3))) struct MirrorDigestTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p src/a src/b; text=; for n in $(seq 200); do text+=$n$'\\n'; printf %s "$text" >src/a/f$n; done; ln src/a/f1 src/b/l; head -c 2000000 /dev/urandom >src/b/big
      truncate -s 5M src/b/holes; echo x >$'src/b/new\\nline'; ln -s x src/b/s; find src -type f -exec touch -d 2020-02-02 {} +
      """)
  }

  @Test(
    "the rows are the same at each -j, and sha256sum, check and audit accept them", arguments: [1, 2, 7, 32])
  func rows(concurrency: Int) throws {
    let run = try t.shell(
      """
      $BP mirror -q -j \(concurrency) -o sums src dst; echo $?; (cd dst; sha256sum -c --quiet ../sums); echo $?; wc -l <sums
      (cd dst; "$BP" check -q ../sums); echo $?; "$BP" audit -q sums dst; echo $?; (cd dst; "$BP" hash src) | diff - sums
      "$BP" mirror -q -o sums src dst; echo $?; $BP mirror -q --force --output sums2 src/ dst2; echo $?; sed 's,src/,,' sums | diff - sums2
      """)
    #expect(run.text == "0\n0\n204\n0\n0\n1\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "the second run takes digests from the cache, and writes the same manifest", .enabled(if: Host.canTrace))
  func cached() throws {
    let disk = try TreeFixture(on: .disk)
    try disk.preloadClock()
    let second = try disk.shell(
      """
      export XDG_CACHE_HOME=$PWD/cache; mkdir cache src; for n in $(seq 50); do echo $n >src/f$n; done; sync
      LD_PRELOAD=$PWD/preload.so SHIFT=200 "$BP" mirror -q -o one src dst; echo $?
      strace -f -o trace -e trace=openat,openat2 "$BP" mirror -q -o two src dst; echo $?; cmp one two; grep -cE '"f[0-9]+"' trace
      """)
    #expect(second.text == "0\n0\n0\n", "\(second.text)\(second.errorText)")
  }

  @Test(
    "a manifest in the target is neither copied nor removed; one with rows is not replaced by an empty one")
  func ownFile() throws {
    let run = try t.shell(
      """
      "$BP" mirror -q -o dst/sums src/ dst; echo $?; "$BP" mirror -q --delete --force -o dst/sums src/ dst; echo $?; wc -l <dst/sums
      mkdir none; "$BP" mirror -q --force -o dst/sums none/ other; echo $?; wc -l <dst/sums; "$BP" mirror -q -o dst/sums src/ dst; echo $?
      """)
    #expect(run.text == "0\n0\n204\n1\n204\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("--verify finds a file whose bytes differ in the target")
  func verify() throws {
    let run = try t.shell(
      """
      $BP mirror --verify src dst 2>messages; echo $?; grep -c 'in memory' messages; grep -o '203 verified' messages
      printf X | dd of=dst/src/b/big bs=1 seek=1000 conv=notrunc status=none; touch -d 2020-02-02 dst/src/b/big
      "$BP" mirror src dst 2>/dev/null; echo $?; "$BP" mirror --verify src dst 2>messages; echo $?
      grep -c 'dst/src/b/big: has other bytes in the target than in the source' messages
      "$BP" mirror -q --checksum --verify src dst; echo $?; cmp src/b/big dst/src/b/big
      """)
    #expect(run.text == "0\n1\n203 verified\n0\n4\n1\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a byte that was flipped below the cache is found",
    .enabled(if: Host.canMountImages, "needs mkfs.ext4 and loop mounts"))
  func flipped() throws {
    let run = try t.shell(
      """
      cat >go <<'E'
      truncate -s 64M image; mkfs.ext4 -qF image; mkdir m; mount -o loop image m || exit 99
      python3 -c 'open("src/b/mark", "wb").write(b"MARKER" * 50000)'; touch -d 2020-02-02 src/b/mark
      "$BP" mirror -q src m; echo $?; sync
      python3 -c 'f = open("image", "r+b"); d = f.read(); p = d.index(b"MARKERMARKER"); f.seek(p); f.write(b"m")'
      "$BP" mirror -q src m; echo $?; "$BP" mirror --verify src m 2>messages; echo $?; grep -c 'b/mark: has other bytes' messages; umount m
      E
      unshare -m --propagation private bash go
      """)
    #expect(run.text == "0\n0\n4\n1\n", "\(run.text)\(run.errorText)")
  }
}
