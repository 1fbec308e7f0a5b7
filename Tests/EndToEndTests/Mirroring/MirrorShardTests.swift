import TestSupport
import Testing

/// A mirror that is divided among shards equals that of one machine.
@Suite(.timeLimit(.minutes(4))) struct MirrorShardTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p src/a src/b one; for n in $(seq 700); do echo $n >src/a/f$n; echo b $n >src/b/g$n; done; ln src/a/f1 src/b/l; ln src/a/f2 src/b/m
      ln -s x src/b/s; mkfifo src/b/p; head -c 9000000 /dev/urandom >src/b/big; echo y >one/y; chmod 750 src/b; touch -d 2001-01-01 src/a src/b src one
      """)
  }

  @Test("a missing shard is named, a doubled one changes nothing, and the merge equals one machine")
  func shards() throws {
    let run = try t.shell(
      """
      "$BP" plan -q --shards 7 --out p -- mirror -o "$PWD/sums" src one dst; echo $?
      for i in 0 1 2 4 5 6; do $BP mirror -q --plan p --shard $i; echo $?; done | sort | uniq -c | tr -d ' '
      "$BP" merge -q p 2>errors; echo $?; grep -c 'the result of shard 3 is missing' errors; ls sums 2>/dev/null
      timeout -s KILL 0.02 "$BP" mirror -q --plan p --shard 3; "$BP" mirror -q --plan p --shard 3 & "$BP" mirror -q --plan p --shard 3; s=$?; wait
      [ $s = 0 ] || [ $s = 11 ] || echo $s; "$BP" mirror -q --plan p --shard 3; "$BP" merge -q p; echo $?
      rsync -anHAXS --delete --itemize-changes src one dst/; "$BP" mirror -q -o one.sums src one single; cmp sums one.sums
      (cd dst; sha256sum -c --quiet ../sums); stat -c '%h %a' dst/src/b/l dst/src/b; find dst -name '.batchproc-*'
      """)
    #expect(run.text == "0\n60\n5\n1\n0\n2 644\n2 750\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "of two sources with one place the first one counts, also if they are in different shards",
    arguments: [1, 4])
  func meeting(shards: Int) throws {
    let run = try t.shell(
      """
      mkdir -p x/d y/d; for n in $(seq 200); do echo $n >x/d/x$n; echo $n >y/d/y$n; done; echo x >x/d/both; echo y >y/d/both; chmod 700 x/d
      "$BP" plan -q --shards \(shards) --out p -- mirror -o "$PWD/sums" x/ y/ dst
      for i in $(seq 0 \(shards - 1)); do "$BP" mirror -q --plan p --shard $i 2>>errors || echo $?; done
      grep -c 'y/d/both: left out: an earlier source has something with this name in the target' errors; cat dst/d/both
      "$BP" merge -q p 2>/dev/null; echo $?; "$BP" mirror -q -o alone.sums x/ y/ alone 2>/dev/null; echo $?; cmp alone.sums sums; stat -c %a dst/d alone/d
      """)
    #expect(run.text == "3\n1\nx\n3\n3\n700\n700\n", "\(run.text)\(run.errorText)")
  }

  @Test("a plan with --delete is refused")
  func deleting() throws {
    let run = try t.shell(
      """
      "$BP" plan -q --shards 2 --out p -- mirror --delete src dst; echo $?; "$BP" plan -q --shards 2 --out p -- mirror --link-dest ../x src dst; echo $?
      """)
    #expect(run.text == "64\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a shard takes digests from the cache as one machine does, unless a file changed after the plan",
    .enabled(if: Host.canTrace))
  func cached() throws {
    let disk = try TreeFixture(on: .disk)
    try disk.preloadClock()
    let run = try disk.shell(
      """
      export XDG_CACHE_HOME=$PWD/cache; mkdir -p cache src/a; for n in $(seq 400); do echo $n >src/a/f$n; done; ln src/a/f9 src/l; sync
      LD_PRELOAD=$PWD/preload.so SHIFT=200 "$BP" mirror -q -o one src dst; echo $?
      for n in 1 4 7; do
        "$BP" plan -q --shards $n --out p$n -- mirror -o "$PWD/sums$n" src dst || echo $?
        for i in $(seq 0 $((n - 1))); do
          strace -f --seccomp-bpf -o trace -e trace=openat,openat2 "$BP" mirror -q --plan p$n --shard $i || echo $?; grep -E '"f[0-9]+"' trace
        done
        [ $(ls p$n/shard-*.result | wc -l) = $n ] || ls p$n; "$BP" merge -q p$n; echo $?; cmp one sums$n
      done
      "$BP" plan -q --shards 1 --out late -- mirror -o "$PWD/sums" src dst; echo other >src/a/f7
      strace -f --seccomp-bpf -o trace -e trace=openat,openat2 "$BP" mirror -q --plan late --shard 0 2>errors; grep -oE '"f[0-9]+"' trace | sort -u
      grep -c 'src/a/f7: changed since it was planned' errors; ls cache/batchproc | head -1
      """)
    #expect(
      run.text == "0\n0\n0\n0\n\"f7\"\n1\ndigests.sqlite\n", "\(run.text)\(run.errorText)")
  }

  @Test("a cache that other machines may have mounted is not opened by a shard")
  func sharedCache() throws {
    // No file system of the known types: one machine names the cache that it cannot make there.
    let run = try t.shell(
      """
      export XDG_CACHE_HOME=/proc/self/ns/mnt/cache; "$BP" mirror -q -o sums src dst 2>&1 | grep -c '/ns/mnt'
      "$BP" plan -q --shards 1 --out p -- mirror -o "$PWD/others" src dst; "$BP" mirror -q --plan p --shard 0 2>&1; echo $?
      """)
    #expect(run.text == "1\n0\n", "\(run.text)\(run.errorText)")
  }
}
