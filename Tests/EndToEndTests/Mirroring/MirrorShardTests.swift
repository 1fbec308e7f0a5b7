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

  @Test("a plan with --delete is refused")
  func deleting() throws {
    let run = try t.shell(
      """
      "$BP" plan -q --shards 2 --out p -- mirror --delete src dst; echo $?; "$BP" plan -q --shards 2 --out p -- mirror --link-dest ../x src dst; echo $?
      """)
    #expect(run.text == "64\n0\n", "\(run.text)\(run.errorText)")
  }
}
