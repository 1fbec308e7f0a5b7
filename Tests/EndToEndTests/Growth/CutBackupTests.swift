import TestSupport
import Testing

/// Runs that end before all sources are walked.
@Suite("Backups that are cut", .timeLimit(.minutes(4)), .enabled(if: Host.hasPython)) struct CutBackupTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      #"""
      cat >make.py <<'EOF'
      import os, random
      r = random.Random(2)
      for d in range(8):
        os.makedirs("src/d%d" % d)
        for i in range(20):
          open("src/d%d/f%d" % (d, i), "wb").write(r.randbytes(r.choice([10, 5000, 90000, 500000])))
      open("src/large", "wb").write(r.randbytes(12 << 20))
      os.link("src/d1/f3", "src/d6/link")
      EOF
      python3 make.py; find src -exec touch -d 2020-01-01 {} +
      """#)
  }

  private func shell(_ script: String) throws -> Outcome {
    try t.shell(
      """
      \(Steps.functions)
      back() { $BP backup -q --to set "$@" src; }
      stored() { for a in set/*.tar.zst; do tar --zstd -tf $a; done | grep -c 'f[0-9]*$'; }
      checks() {
        rm -rf out; ends "restore of $1" $BP restore -q set -C out
        diff -r src out$PWD/src && [ out$PWD/src/d1/f3 -ef out$PWD/src/d6/link ]; echo "trees after $1: $?"
        ends "verify of $1" $BP verify -q set
      }
      manifests() { ls set/*.manifest.zst | wc -l | says "$1"; }
      \(script)
      """)
  }

  @Test(
    "a run with checkpoints ends with one complete snapshot that stores each file once", arguments: [1, 7])
  func checkpoints(jobs: Int) throws {
    let run = try shell(
      """
      ends backup $BP backup -q --to set --checkpoint 5M -j \(jobs) src; manifests manifests
      [ $(ls set/*.tar.zst | wc -l) -gt 3 ]; echo "several archives: $?"
      stored | says "files in archives"; checks it
      $BP snapshots set | grep -c incomplete | says "incomplete ones"
      ends "next" back; stored | says "files in archives"
      """)
    run.expectSteps([
      "backup": "0", "manifests": "1", "several archives": "0", "files in archives": "160",
      "restore of it": "0", "trees after it": "0", "verify of it": "0", "incomplete ones": "0", "next": "0",
      "files in archives": "160",
    ])
  }

  @Test(
    "after kill -9 at any moment the next run stores only the rest",
    arguments: Campaign.isFull ? [1, 2, 3] : [2])
  func killed(seed: Int) throws {
    let run = try shell(
      """
      RANDOM=\(seed)
      for n in 1 2 3 4 5 6; do
        $BP backup -q --to set --checkpoint 2M --rate 30M src 2>>errors & process=$!
        sleep 0.$((RANDOM % 9))$((RANDOM % 9)); kill -9 $process 2>/dev/null; wait $process 2>/dev/null
      done
      ends backup back --checkpoint 2M; manifests manifests; checks it
      stored | says "files in archives"
      ls set/.batchproc* set/*.tmp 2>/dev/null | wc -l | says "temporary files"
      """)
    run.expectSteps([
      "backup": "0", "manifests": "1", "restore of it": "0", "trees after it": "0", "verify of it": "0",
      "files in archives": "160", "temporary files": "0",
    ])
  }

  @Test("TERM and a time budget keep what was done; such a snapshot is restored by its id alone")
  func stopped() throws {
    let run = try shell(
      """
      # More than the program plans ahead.
      mkdir src/d2/more; for i in $(seq 60); do head -c 1000000 /dev/urandom >src/d2/more/x$i; done
      $BP backup -q --to set -j 2 --rate 10M src 2>errors & process=$!
      until [ "$(awk '/rchar/ {print $2}' /proc/$process/io 2>/dev/null || echo 99999999)" -gt 14000000 ]; do sleep 0.01; done
      kill -TERM $process; wait $process; echo "status: $?"
      counts message 'is not complete: it has the files up to .*run again to continue' <errors
      manifests manifests; id=$(ls set/*.manifest.zst | grep -o '[0-9]*T[0-9]*Z')
      $BP snapshots set | counts listed incomplete
      $BP snapshots --json set | jq -c 'select(.id) | [.complete, .verified]' | says "in JSON"
      ends "newest" $BP restore -q set -C out; ends "by id" $BP restore -q set --at $id -C part 2>errors
      counts "what is missing" 'is not complete: it has nothing behind' <errors
      [ $(find part -type f | wc -l) -gt 0 ]; echo "restored: $?"
      ends "too old" $BP snapshots -q --max-age 1h set >rows; ends drill $BP drill -q set
      ends copy $BP copy -q set far; ls far/*.manifest.zst 2>/dev/null | wc -l | says "copies"
      ends prune $BP prune -q --keep-last 1 set; manifests "after prune"
      ends budget $BP backup -q --to set -j 2 --rate 20M --time-budget 1s src; manifests "after the budget"
      ends whole back --keep-last 1; manifests manifests; checks it; stored | says "files in archives"
      """)
    run.expectSteps([
      "status": "143", "message": "1", "manifests": "1", "listed": "1", "in JSON": "[false,false]",
      "newest": "1",
      "by id": "0", "what is missing": "1", "restored": "0", "too old": "4", "drill": "1", "copy": "0",
      "copies": "0", "prune": "0", "after prune": "1", "budget": "20", "after the budget": "1", "whole": "0",
      "manifests": "1", "restore of it": "0", "trees after it": "0", "verify of it": "0",
      "files in archives": "160",
    ])
  }

  @Test("an increment that is cut stores no file again that the last complete snapshot has")
  func increment() throws {
    let run = try shell(
      """
      ends first back; sleep 1.1; mkdir src/d0a
      for i in $(seq 40); do head -c 1500000 /dev/urandom >src/d0a/n$i; done; mv src/d5 src/d9
      ends budget back -j 2 --rate 20M --time-budget 1s
      ends second back; checks it; stored | says "old files in archives"
      for a in set/*.tar.zst; do tar --zstd -tf $a; done | grep -c 'n[0-9]*$' | says "new files in archives"
      """)
    run.expectSteps([
      "first": "0", "budget": "20", "second": "0", "restore of it": "0", "trees after it": "0",
      "verify of it": "0", "old files in archives": "160", "new files in archives": "40",
    ])
  }
}
