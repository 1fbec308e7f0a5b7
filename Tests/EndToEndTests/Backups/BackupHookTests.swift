import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

/// Hooks, metrics, mail from cron, and messages for a service manager.
@Suite(.timeLimit(.minutes(2))) struct BackupHookTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir src; seq 1000 >src/a; echo b >src/b")
  }

  @Test("hooks get the outcome in their environment and as JSON, and do not change the status of the run")
  func hooks() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      after='cat >json; env | grep ^BATCHPROC_ | sort >env; exit 9'
      ends "backup" $BP backup -q --to set --before 'echo $BATCHPROC_HOOK >>log' --after "$after" src 2>errors
      says "run before" <log
      says "environment" <env
      counts "named" '--after ended with 9' <errors
      counts "JSON" '"hook":"after".*"outcome":"success".*"files":2' <json
      failure='echo $BATCHPROC_STATUS $BATCHPROC_OUTCOME'
      ends "failing backup" $BP backup -q --to set --on-failure "$failure" gone >shown 2>&1
      counts "run on failure" '^1 failure$' <shown
      counts "named as missing" ': gone: ' <shown
      ends "failing hook before" $BP backup -q --to set --before 'exit 3' src
      ls set/*.manifest.zst | wc -l | says "snapshots"
      """)
    let id = try t.shell("ls set/*.manifest.zst | grep -o '[0-9]*T[0-9]*Z'").text.dropLast()
    run.expectSteps([
      "backup": "0", "run before": "before",
      "environment":
        "BATCHPROC_DIR=set BATCHPROC_HOOK=after BATCHPROC_OUTCOME=success BATCHPROC_SET=backup "
        + "BATCHPROC_SNAPSHOT=\(id) BATCHPROC_STATUS=0",
      "named": "1", "JSON": "1", "failing backup": "1", "run on failure": "1", "named as missing": "1",
      "failing hook before": "1", "snapshots": "1",
    ])
  }

  @Test(
    "the variables of a hook replace those of the environment, also in a backup that another hook starts"
  )
  func nested() throws {
    let run = try t.shell(
      """
      tell='echo $BATCHPROC_STATUS $BATCHPROC_OUTCOME $BATCHPROC_DIR; env | grep -c ^BATCHPROC_STATUS='
      BATCHPROC_STATUS=0 BATCHPROC_OUTCOME=success BATCHPROC_DIR=x $BP backup -q --to set --after "$tell" gone 2>&1 >/dev/null | grep -v gone
      export tell
      $BP backup -q --to set --after '$BP backup -q --to other --after "$tell" gone' src 2>&1 | grep -v gone
      """)
    #expect(run.text == "1 failure set\n1\n1 failure other\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("a hook that exceeds its time limit is killed with all its child processes")
  func timeout() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      ends backup $BP backup -q --to set --after 'sleep 60 & echo $! >pid; sleep 60' --hook-timeout 1s src
      ps -o stat= -p $(cat pid) | grep -v Z | says "child that runs"
      """)
    run.expectSteps(["backup": "0", "child that runs": ""])
    #expect(run.errorText.contains("took too long, and was killed"), "\(run.errorText)")
  }

  @Test("metrics have the form of Prometheus, also for a run that fails")
  func metrics() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP backup -q --to set --name 'a"b' --metrics m src
      counts "last success" '^batchproc_backup_last_success_timestamp_seconds{set="a\\\\"b"} [0-9.e]*$' <m
      counts "gauges" '^# TYPE .* gauge$' <m
      grep last_success m | tail -n 1 >before
      mv src gone
      ends "without the source" $BP backup -q --to set --name 'a"b' --metrics m src 2>/dev/null
      grep last_success m | tail -n 1 | ends "last success is the same" cmp before -
      grep exit_status m | tail -n 1 | says "status"
      """)
    run.expectSteps([
      "last success": "1", "gauges": "9", "without the source": "1", "last success is the same": "0",
      "status": "batchproc_backup_exit_status{set=\"a\\\"b\"} 1",
    ])
  }

  @Test(
    "the time of the last success stays in the metrics while the target is missing",
    arguments: [
      ":", "rm m", "sed -i 's/\\(last_success.*\\) [0-9]*$/\\1 9999999999/' m",
      "sed -i 's/\\(last_success.*\\) [0-9]*$/\\1 no/' m",
      "rm -r \"$XDG_STATE_HOME/batchproc/successes\"",
      "cp m n; echo >>m; rm -r \"$XDG_STATE_HOME/batchproc/successes\"",
    ])
  func metricsOfMissingTarget(change: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      value() { grep '^[^#]*last_success' m; }
      $BP backup -q --to set --metrics m src
      ends "known at first" value >before
      mv set gone
      \(change)
      for n in 1 2; do
        ends "backup $n" $BP backup -q --to set --metrics m src
        value | ends "last success after backup $n" cmp before -
        rm -f n
      done
      $BP backup -q --init --to other --name none --metrics none missing
      counts "last success of another set" last_success <none
      """)
    run.expectSteps([
      "known at first": "0", "backup 1": "1", "last success after backup 1": "0", "backup 2": "1",
      "last success after backup 2": "0", "last success of another set": "0",
    ])
  }

  @Test(
    "cron sends no mail after a good run, and otherwise the errors and one line",
    .enabled(if: Host.canChangeUser))
  func mail() throws {
    let run = try t.shell(
      """
      chmod -R a+rwX .; setpriv --reuid=65534 --regid=65534 --clear-groups $BP backup -q --to set src 2>&1
      chmod 0 src/b; setpriv --reuid=65534 --regid=65534 --clear-groups $BP backup -q --to set src 2>&1; echo $?
      """)
    let lines = run.text.split(separator: "\n")
    #expect(
      lines.count == 3 && lines[0].contains("src/b: cannot open") && lines[1].contains("1 failed")
        && lines[2] == "3", "\(run.text)")
  }

  @Test("in the journal each line has its priority", .enabled(if: Host.hasPython))
  func priorities() throws {
    let run = try t.shell(
      """
      cat >journal.py <<'END'
      import os, socket, subprocess, sys
      ours, theirs = socket.socketpair()
      status = os.fstat(theirs.fileno())
      notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
      notify.bind('\\0batchproc-test-%d' % os.getpid())
      name = '@batchproc-test-%d' % os.getpid()
      journal = '%d:%d' % (status.st_dev, status.st_ino)
      environment = dict(os.environ, JOURNAL_STREAM=journal, NOTIFY_SOCKET=name)
      code = subprocess.call(sys.argv[1:], stderr=theirs, env=environment)
      theirs.close()
      print(ours.recv(65536).decode(), end='')
      notify.setblocking(False)
      try:
          print(notify.recv(4096).decode(), end='')
      except BlockingIOError:
          print('nothing')
      END
      $BP backup -q --to set src
      python3 journal.py $BP backup --to set src
      python3 journal.py $BP backup --to set gone
      """)
    let lines = run.text.split(separator: "\n").map(String.init)
    #expect(lines.count == 4, "\(run.text)\(run.errorText)")
    #expect(lines.first?.hasPrefix("<6>snapshot ") == true, "\(run.text)")
    #expect(lines.dropFirst().first?.hasPrefix("STATUS=archiving into backup-") == true, "\(run.text)")
    #expect(lines.dropFirst(2).first?.hasPrefix("<3>batchproc: gone: ") == true, "\(run.text)")
  }

  @Test("--rate limits the speed of reading")
  func rate() throws {
    let run = try t.shell(
      """
      rows() { zstdcat $1/*.manifest.zst | tail -n +3 | cut -d, -f1-3; }
      head -c 300K /dev/urandom >src/n
      time $BP backup -q --to set --rate 1G src
      $BP backup -q --to other --rate 100G src
      diff <(rows set) <(rows other) | grep path
      """)
    #expect(run.text == "", "\(run.text)\(run.errorText)")
  }
}
