import BatchEngine
import TestSupport
import Testing

/// Runs in a control group whose limit of memory is lowered while they run.
@Suite(.timeLimit(.minutes(5))) struct MemoryLimitTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
  }

  @Test(
    "a run whose limit of memory is lowered uses fewer operations, and ends with the same outputs",
    .enabled(if: Host.memoryGroups != nil, "needs control groups that limit memory"))
  func loweredLimit() throws {
    let (groups, file) = try #require(Host.memoryGroups)
    for number in 0..<12 { try t.file(PathBytes("t/f\(number)"), size: 1 << 20) }
    // The rate makes the run last until the limit was read; the limit is lowered as soon as the run knows its own. The rest of
    // the files is read without the rate.
    let run = try t.shell(
      """
      group=\(groups)/batchproc-test-$$; mkdir $group; echo $((4 << 30)) >$group/\(file)
      (echo $BASHPID >$group/cgroup.procs
       exec $BP compress -v -j 8 --rate 2M --control control --format xz --output-dir out t 2>err) & run=$!
      until [ -d out ]; do sleep 0.05; done
      echo $((400 << 20)) >$group/\(file)
      until grep -q 'concurrency 8 -> ' err || [ ! -d /proc/$run ]; do sleep 0.05; done; echo 'rate off' >control
      wait $run; end=$?; rmdir $group; cat err
      for f in t/*; do xz -dc out/$f.xz | cmp - $f || end=99; done
      exit $end
      """)
    #expect(run.status == 0)
    #expect(run.text.contains("concurrency 8 -> 1: because of the memory that is left"))
    #expect(run.text.contains("compressed 12 files"))
  }
}
