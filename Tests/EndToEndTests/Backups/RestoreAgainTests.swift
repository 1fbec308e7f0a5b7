import BatchEngine
import Foundation
import TestSupport
import Testing

/// Restores into a folder that has files, and restores by time.
@Suite(.timeLimit(.minutes(4))) struct RestoreAgainTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p src/a/b; for n in $(seq 40); do echo $n >src/a/f$n; done; head -c 3M /dev/urandom >src/big; : >src/empty
      ln src/a/f1 src/hard; ln -s a/f2 src/soft; mkfifo src/fifo; truncate -s 5M src/holes
      $BP backup -q --to set src
      """)
  }

  @Test("equal files are up to date at every concurrency", arguments: [1, 2, 7, 32]) func again(
    _ lanes: Int
  ) throws {
    let run = try t.shell(
      """
      again() { $BP restore -j \(lanes) set -C out 2>errors "$@"; echo $?; }
      summary() { tail -n 1 errors | sed 's/.*Z: //; s/ in [0-9.]* m*s.*;/;/'; }
      rows=$(grep -c '"archive":' set/*.manifest); rows=$((rows - $(grep -c '"type":"needs"' set/*.manifest)))
      $BP restore -q set -C out; touch -d 2020-01-01 out$PWD/src/big; again; wc -l <errors; summary | sed "s/$rows/ROWS/g"
      rm out$PWD/src/a/f3 out$PWD/src/a/f1; again; wc -l <errors; summary | sed "s/$((rows - 2))/ROWS/g"; again -v; grep -c ': up to date$' errors | sed "s/$rows/ROWS/"
      [ out$PWD/src/hard -ef out$PWD/src/a/f1 ] && diff -r --no-dereference src/a out$PWD/src/a && echo equal
      """)
    #expect(
      run.text == """
        0
        1
        0 files; ROWS skipped (ROWS up to date)
        0
        1
        1 file, 1 link, 2 B; ROWS skipped (ROWS up to date)
        0
        ROWS
        equal

        """, "\(run.text)\(run.errorText)")
  }

  @Test("other files are kept and named, or replaced with --force", arguments: [1, 2, 7, 32]) func other(
    _ lanes: Int
  ) throws {
    let run = try t.shell(
      """
      $BP restore -q set -C out; o=out$PWD/src
      echo x >$o/a/f1; echo 99 >$o/a/f40; head -c 3M /dev/zero >$o/big; rm $o/soft; ln -s a/f3 $o/soft; rm $o/fifo; echo >$o/fifo
      $BP restore -j \(lanes) set -C out 2>errors; echo $?; grep -c 'exists already (--force replaces it' errors
      $BP restore -q -j \(lanes) --force set -C out; echo $?; diff -r --no-dereference -x fifo src $o && [ -p $o/fifo ] && [ $o/hard -ef $o/a/f1 ] && echo equal
      """)
    #expect(run.text == "3\n5\n0\nequal\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a listed time selects its snapshot for a restore, in each zone", .enabled(if: Host.canPreload),
    arguments: ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"])
  func listed(_ zone: String) throws {
    try t.preload(
      """
      #include <stdlib.h>
      #include <time.h>
      int clock_gettime(clockid_t id, struct timespec *t) {
        static int (*real)(clockid_t, struct timespec *);
        if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
        int result = real(id, t);
        if (id == CLOCK_REALTIME && getenv("NOW")) t->tv_sec = atol(getenv("NOW"));
        return result;
      }
      """)
    let run = try t.shell(
      """
      export TZ=\(zone); for now in 1795406574 1795407798 1795493000; do LD_PRELOAD=$PWD/preload.so NOW=$now $BP backup -q --to days src; done
      $BP snapshots days | while read id day time rest; do
        $BP restore --at "$day $time" -C out-$id days a 2>&1 | grep -q "batchproc: --at means the snapshot $id ($day $time" || echo wrong $id
        $BP restore -q --at "${day}T$time" -C t-$id days src; $BP snapshots days --at "$day $time" | cut -d' ' -f1 | grep -qx $id || echo other $id
        $BP snapshots days --at "$day $time" --digests 2>&1 | grep -q "means the snapshot $id" || echo digests; $BP drill days --at "$day $time" 2>&1 | grep -q "drilled $id" || echo drill
      done; $BP snapshots days | wc -l; $BP restore -C x --at 1999-01-01 days; echo $?; $BP restore -C x --at noon days; echo $?; [ -e x ] || echo nothing
      """)
    #expect(run.text == "3\n1\n64\nnothing\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("no snapshot is that old; the nearest is 20261123T"), "\(run.errorText)")
  }
}
