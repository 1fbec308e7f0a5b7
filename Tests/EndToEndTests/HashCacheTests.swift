import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

/// `hash --cache`: the same rows, without opening what has not changed.
@Suite(.timeLimit(.minutes(2))) struct HashCacheTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let made = try t.shell(
      """
      mkdir src cache; for i in $(seq 60); do seq $i $((i * 30)) >src/f$i; done
      cat >rot.py <<'END'
      import os, sys
      for path in sys.argv[1:]:
          before = os.stat(path)
          with open(path, 'r+b') as file:
              file.seek(2); byte = file.read(1); file.seek(2); file.write(bytes([byte[0] ^ 1]))
          os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
      END
      """)
    try #require(made.status == 0)
    try t.preload(
      """
      #include <stdlib.h>
      #include <time.h>
      time_t time(time_t *t) { struct timespec s; clock_gettime(CLOCK_REALTIME, &s); s.tv_sec += 86400; if (t) *t = s.tv_sec; return s.tv_sec; }
      """)
  }

  /// A day later by the clock of the program: what is new counts as settled.
  private func later(_ script: String) throws -> Outcome {
    try t.shell(
      "export XDG_CACHE_HOME=$PWD/cache; later() { LD_PRELOAD=$PWD/preload.so $BP \"$@\"; }\n\(script)")
  }

  @Test(
    "what is known is not opened, and the rows are the same at every concurrency",
    .enabled(if: Host.canTrace && Host.canPreload))
  func unopened() throws {
    let run = try later(
      """
      $BP hash src >m; for j in 1 2 7; do later hash -q -j $j --cache src | cmp m - || echo differs; done
      strace -qq -f -o trace -e trace=openat -E LD_PRELOAD=$PWD/preload.so $BP hash -q --cache src | cmp m -; grep -cE '"f[0-9]+"' trace
      echo more >>src/f3; later hash -q --cache src | sha256sum --check --quiet - && later hash --cache -a md5 -a sha256 --json src | grep -c '"md5"'
      stat -c %a cache/batchproc cache/batchproc/digests.sqlite
      """)
    #expect(run.text == "0\n60\n700\n600\n", "\(run.text)\(run.errorText)")
  }

  @Test("what changed shortly before it was read is not stored")
  func racy() throws {
    let run = try later("for n in 1 2; do $BP hash --cache src 2>&1 >/dev/null; done | grep -c known")
    #expect(run.text == "0\n", "\(run.text)\(run.errorText)")
  }

  @Test("other bytes under the same size and time are ROT", .enabled(if: Host.hasPython && Host.canPreload))
  func rot() throws {
    let run = try later(
      "later hash -q --cache src >/dev/null; python3 rot.py src/f7; for n in 1 2; do later hash -q --cache src 2>&1 >/dev/null | sed 's/ROT.*/ROT/'; done; later hash -q --cache src >/dev/null 2>&1; echo $?"
    )
    #expect(
      run.text == "batchproc: warning: src/f7: ROT\nbatchproc: warning: src/f7: ROT\n4\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("--cache-verify finds rot below the file system", .enabled(if: Host.canMountImages && Host.hasPython))
  func verify() throws {
    let run = try later(
      """
      truncate -s 16M image; mkfs.ext4 -qF image; mkdir m
      unshare -m bash -c 'mount -o loop image m; seq 2000 | sed s/^/needle/ >m/f; sync; LD_PRELOAD=$PWD/preload.so $BP hash -q --cache m/f; umount m
      python3 -c "
      data = open(\\"image\\", \\"rb\\").read(); place = data.find(b\\"needle1000\\"); assert place > 0
      with open(\\"image\\", \\"r+b\\") as f: f.seek(place); f.write(b\\"N\\")"
      mount -o loop image m; LD_PRELOAD=$PWD/preload.so $BP hash -q --cache m/f; echo $?; LD_PRELOAD=$PWD/preload.so $BP hash -q --cache-verify 100 m/f 2>&1; echo $?; umount m' | sed 's/^[0-9a-f]\\{64\\}  //; s/ROT.*/ROT/'
      """)
    #expect(
      run.text == "m/f\nm/f\n0\nbatchproc: warning: m/f: ROT\nm/f\n4\n", "\(run.text)\(run.errorText)")
  }

  @Test("a damaged or old database is made anew, with a message; several runs share one")
  func damaged() throws {
    let run = try later(
      """
      $BP hash src >m; later hash -q --cache src | cmp m -
      echo garbage >cache/batchproc/digests.sqlite; rm -f cache/batchproc/*-*; later hash --cache src 2>&1 >n | grep -c 'made anew'; cmp m n
      for n in 1 2 3 4; do later hash -q --cache src >p$n & done; wait; for n in 1 2 3 4; do cmp m p$n; done
      env -u XDG_CACHE_HOME -u HOME $BP hash --cache src 2>&1 >n | grep -c 'there is no cache'; cmp m n
      """)
    #expect(run.text == "1\n1\n", "\(run.text)\(run.errorText)")
  }
}
