import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

/// `hash --cache`: the rows are the same, and unchanged files are not opened.
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
    try t.preloadClock()
  }

  /// Runs a script with the program's clock a day later, so that new files count as settled.
  private func later(_ script: String) throws -> Outcome {
    try t.shell(
      "export XDG_CACHE_HOME=$PWD/cache; later() { LD_PRELOAD=$PWD/preload.so $BP \"$@\"; }\n\(script)")
  }

  @Test(
    "known files are not opened, and the rows are the same at every concurrency",
    .enabled(if: Host.canTrace && Host.canPreload))
  func unopened() throws {
    let run = try later(
      """
      $BP hash src >m; for j in 1 2 7; do later hash -q -j $j --cache src | cmp m - || echo differs; done
      strace -qq -f --seccomp-bpf -o trace -e trace=openat -E LD_PRELOAD=$PWD/preload.so $BP hash -q --cache src | cmp m -; grep -cE '"f[0-9]+"' trace
      echo more >>src/f3; later hash -q --cache src | sha256sum --check --quiet - && later hash --cache -a md5 -a sha256 --json src | grep -c '"md5"'
      stat -c %a cache/batchproc cache/batchproc/digests.sqlite
      """)
    #expect(run.text == "0\n60\n700\n600\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a run that is stopped keeps the digests of the files that it has read",
    .enabled(if: Host.canTrace && Host.canPreload))
  func stopped() throws {
    // More than a pipe holds, so it is read only when all files before standard input are.
    let run = try later(
      """
      mkfifo in
      LD_PRELOAD=$PWD/preload.so $BP hash -q -j 1 --stride 1 --cache src - <in >rows & p=$!
      exec 3>in; head -c 200000 /dev/zero >&3
      kill -TERM $p; wait $p; echo $?
      strace -qq -f --seccomp-bpf -o trace -e trace=openat -E LD_PRELOAD=$PWD/preload.so $BP hash -q --cache src | wc -l
      grep -cE '"f[0-9]+"' trace
      """)
    #expect(run.text == "143\n60\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a file that changed shortly before it was read is not stored")
  func racy() throws {
    let run = try later("for n in 1 2; do $BP hash --cache src 2>&1 >/dev/null; done | grep -c known")
    #expect(run.text == "0\n", "\(run.text)\(run.errorText)")
  }

  @Test("other bytes with the same size and time are ROT", .enabled(if: Host.hasPython && Host.canPreload))
  func rot() throws {
    let run = try later(
      """
      \(Steps.functions)
      later hash -q --cache src >/dev/null
      python3 rot.py src/f7
      for n in 1 2; do later hash -q --cache src 2>&1 >/dev/null | sed 's/ROT.*/ROT/' | says "run $n"; done
      ends "status" later hash -q --cache src >/dev/null 2>&1
      """)
    run.expectSteps([
      "run 1": "batchproc: warning: src/f7: ROT", "run 2": "batchproc: warning: src/f7: ROT", "status": "4",
    ])
  }

  @Test("--cache-verify finds rot below the file system", .enabled(if: Host.canMountImages && Host.hasPython))
  func verify() throws {
    let run = try later(
      """
      truncate -s 16M image
      mkfs.ext4 -qF image
      mkdir m
      cat >change.py <<'EOF'
      data = open("image", "rb").read()
      place = data.find(b"needle1000")
      assert place > 0
      with open("image", "r+b") as file:
          file.seek(place)
          file.write(b"N")
      EOF
      cat >go <<'EOF'
      \(Steps.functions)
      export LD_PRELOAD=$PWD/preload.so
      # without_digest NAME: prints the paths and messages of the input.
      without_digest() { sed 's/^[0-9a-f]\\{64\\}  //; s/ROT.*/ROT/' | says "$1"; }
      mount -o loop image m
      seq 2000 | sed s/^/needle/ >m/f
      sync
      $BP hash -q --cache m/f | without_digest "first run"
      umount m
      python3 change.py
      mount -o loop image m
      ends "run with the cache" $BP hash -q --cache m/f >rows
      without_digest "its output" <rows
      ends "run that verifies it" $BP hash -q --cache-verify 100 m/f >rows 2>&1
      without_digest "its output" <rows
      umount m
      EOF
      unshare -m bash go
      """)
    run.expectSteps([
      "first run": "m/f", "run with the cache": "0", "its output": "m/f",
      "run that verifies it": "4", "its output": "batchproc: warning: m/f: ROT m/f",
    ])
  }

  @Test("a damaged or old database is replaced with a message, and several runs share one")
  func damaged() throws {
    let run = try later(
      """
      $BP hash src >m; later hash -q --cache src | cmp m -
      echo garbage >cache/batchproc/digests.sqlite; rm -f cache/batchproc/*-*; later hash --cache src 2>&1 >n | grep -c 'created again'; cmp m n
      for n in 1 2 3 4; do later hash -q --cache src >p$n & done; wait; for n in 1 2 3 4; do cmp m p$n; done
      env -u XDG_CACHE_HOME -u HOME $BP hash --cache src 2>&1 >n | grep -c 'there is no cache'; cmp m n
      """)
    #expect(run.text == "1\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "hash --cache and the next backup find writes through a mapping, also of a program that starts later",
    .enabled(if: Host.canMountImages && Host.hasPython && Host.canPreload))
  func mapped() throws {
    let run = try later(
      """
      truncate -s 64M image; mkfs.ext4 -qF image; mkdir m
      cat >map.py <<'END'
      import mmap, sys
      with open('m/f', 'r+b') as file:
          page = mmap.mmap(file.fileno(), 4096)
      for word in sys.stdin:
          page[0:4] = word[0:4].encode()
          print('written', flush=True)
      END
      # For the program the write is ten seconds old, and the page is still dirty.
      export SHIFT=10
      unshare -m bash -c 'later() { LD_PRELOAD=$PWD/preload.so $BP "$@"; }
      mount -o loop image m; head -c 4096 /dev/zero >m/f; sync m/f
      for writer in 1 2; do
        coproc python3 map.py; writer=$!
        for word in good evil more; do
          echo $word >&${COPROC[1]}; read -r answer <&${COPROC[0]}; echo $answer
          later hash -q --cache m/f | sha256sum --check --quiet -; echo $?
          later backup -q --to set m; rm -rf out; $BP restore -q -C out set; cmp m/f out$PWD/m/f; echo $?
        done
        kill $writer; wait $writer
      done 2>/dev/null
      later hash --cache m/f 2>&1 >/dev/null | grep -c "1 known"; zstdcat set/*.manifest.zst | grep -c unsettled; umount m'
      """)
    #expect(
      run.text == String(repeating: "written\n0\n0\n", count: 6) + "1\n0\n", "\(run.text)\(run.errorText)")
  }
}
