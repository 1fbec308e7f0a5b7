import BatchEngine
import Foundation
import TestSupport
import Testing

/// Runs without progress, in which a read does not return until a file `go` appears.
@Suite(.enabled(if: Host.canPreload), .timeLimit(.minutes(3))) struct StallTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir t; echo a >t/a; echo held >t/held; echo z >t/z")
    try t.preload(
      #"""
      #include <stdio.h>
      #include <stdlib.h>
      static void hold(void) {
        const char *go = getenv("GO");
        while (access(go ? go : "go", F_OK) != 0) usleep(1000);
      }
      ssize_t read(int fd, void *buffer, size_t count) {
        static ssize_t (*next)(int, void *, size_t);
        if (!next) next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
        char link[64], target[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof target);
        if (length > 5 && memcmp(target + length - 5, "/held", 5) == 0) hold();
        return next(fd, buffer, count);
      }
      /* The end of a process whose thread the kernel does not let go. */
      void _exit(int status) {
        if (strcmp(program_invocation_short_name, "batchproc") == 0) {
          FILE *mark = fopen("ending", "w");
          if (mark) fclose(mark);
          hold();
        }
        void (*next)(int) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
        next(status);
        __builtin_unreachable();
      }
      """#)
  }

  @Test(
    "a stall is reported once, with the files in progress and their age, and the run continues",
    arguments: [1, 2, 7])
  func warning(concurrency: Int) throws {
    let run = try t.shell(
      """
      LD_PRELOAD=$PWD/preload.so $BP hash -q -j \(concurrency) --stall-warning 1 t >out 2>errors & pid=$!
      until grep -q 'in progress' errors; do sleep 0.02; done; : >go; wait $pid; echo $?; sha256sum t/* | cmp - out
      sed -E 's/[0-9.]+ s/N s/g' errors
      """)
    #expect(
      run.text == "0\nbatchproc: warning: nothing was read for N s; in progress: t/held for N s\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("--json has a separate line for each file in progress")
  func events() throws {
    let run = try t.shell(
      """
      LD_PRELOAD=$PWD/preload.so $BP hash --json --stall-warning 1 t >out 2>errors & pid=$!
      until grep -q stall out; do sleep 0.02; done; : >go; wait $pid; echo $?; grep -c 'in progress: t/held' errors
      grep stall out | sed -E 's/[0-9.]+,"path/N,"path/; s/"age":[0-9.]+/"age":N/; s/"seq":[0-9]/"seq":N/'
      """)
    #expect(
      run.text
        == "0\n1\n{\"type\":\"stall\",\"schema\":2,\"seq\":N,\"seconds\":N,\"path\":\"t/held\",\"age\":N}\n",
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "a stall on standard input is noticed too, and --stall-timeout ends the run like a fatal error"
  )
  func standardInput() throws {
    let run = try t.shell(
      """
      mkfifo p; sleep 100 >p & writer=$!
      $BP hash --json --stall-warning 0 --stall-timeout 1 - <p >out 2>errors; echo $?; kill $writer
      tail -n 1 out | grep -c '"type":"summary".*"complete":false'; grep -c 'in progress: - for' errors
      grep -c '"type":"error".*"path":"-"' out
      """)
    #expect(run.text == "1\n1\n1\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("--stall-timeout ends a backup whose read does not return: hooks run, and the set is unlocked")
  func backup() throws {
    let run = try t.shell(
      """
      mkdir other; echo o >other/o; $BP backup -q --to set other
      LD_PRELOAD=$PWD/preload.so GO=$PWD/go $BP backup -q --to set --stall-timeout 1 --metrics m \
        --on-failure 'echo failure $BATCHPROC_STATUS >>hooks' --after 'echo after $BATCHPROC_OUTCOME >>hooks' t 2>errors & pid=$!
      until [ -e ending ]; do sleep 0.02; done
      $BP backup -q --to set other; echo $?; : >go; wait $pid; echo $?; cat hooks
      grep -c '^batchproc: .*t/held: nothing was read for .* --stall-timeout' errors; grep -c 'exit_status.* 1$' m
      ls set/*.manifest.zst | wc -l; ls set/.[a-z]*.tmp* set/.batchproc* 2>/dev/null | wc -l
      """)
    #expect(run.text.hasPrefix("0\n1\nfailure 1\nafter failure\n1\n1\n2\n"), "\(run.text)\(run.errorText)")
  }
}
