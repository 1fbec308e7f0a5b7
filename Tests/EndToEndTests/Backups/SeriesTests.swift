import BatchEngine
import TestSupport
import Testing

/// Several jobs and machines that share one set: each has its own series of snapshots.
@Suite(.timeLimit(.minutes(5))) struct SeriesTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p etc home/deep
      echo e >etc/e
      echo h >home/h
      echo d >home/deep/d
      """)
  }

  private func run(_ script: String) throws -> Outcome {
    try t.shell(
      """
      series() {
        $BP snapshots -q "$@" | sed "s|$PWD/||g; s|.*verified *||; s|[^ ]*: ||" | sort | uniq -c | xargs | says series
      }
      increments() { $BP snapshots "$@" | awk '{print $4}' | says increments; }
      restored() {
        local name=$1
        shift
        rm -rf out
        ends "restore $name" $BP restore -q -C out "$@"
        (cd out$PWD 2>/dev/null && find . -type f | sort) | says "files $name"
      }
      user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
      \(Steps.functions)
      \(script)
      """, seconds: 120)
  }

  @Test("two jobs with the default name keep their own snapshots and increments")
  func jobs() throws {
    let run = try run(
      """
      for night in 1 2 3; do
        for job in etc home; do
          echo $night >>$job/new
          $BP backup -q --to set --keep-last 2 $job
        done
      done
      series set
      increments set
      restored "of etc" set --source etc
      restored "of home" set --source home
      $BP prune -n --keep-last 1 set 2>/dev/null | counts "prune would remove" remove
      $BP prune -n --keep-last 1 --group-by none set 2>/dev/null | counts "prune without groups would remove" remove
      path='"sources":\\[{"path":"'"$PWD"'/[a-z]*"}\\]'
      $BP snapshots --json set | counts "in JSON" '"machine":"[0-9a-f]*","host":"[^"]*",'"$path"',"failures":0'
      """)
    run.expectSteps([
      "series": "2 etc 2 home", "increments": "+1 +1 +2 +2", "restore of etc": "0",
      "files of etc": "./etc/e ./etc/new", "restore of home": "0",
      "files of home": "./home/deep/d ./home/h ./home/new", "prune would remove": "2",
      "prune without groups would remove": "3", "in JSON": "4",
    ])
  }

  @Test("a restore of several series asks which one, unless a newer one has all sources")
  func choice() throws {
    let run = try run(
      """
      $BP backup -q --to set etc
      $BP backup -q --to set home
      restored "without a choice" set
      ends "drill without a choice" $BP drill -q set 2>/dev/null
      restored "of a path without a choice" set --source home/h
      restored "of the first one" set --at $($BP snapshots set | head -n 1 | cut -d' ' -f1)
      $BP snapshots -q --list latest --source etc set | wc -l | says "listed of etc"
      $BP backup -q --to set etc home
      restored "of one with all sources" set
      """)
    run.expectSteps([
      "restore without a choice": "64", "files without a choice": "", "drill without a choice": "64",
      "restore of a path without a choice": "1", "files of a path without a choice": "",
      "restore of the first one": "0", "files of the first one": "./etc/e", "listed of etc": "2",
      "restore of one with all sources": "0",
      "files of one with all sources": "./etc/e ./home/deep/d ./home/h",
    ])
    #expect(
      run.errorText.contains("the set has snapshots of 2 series")
        && run.errorText.contains("\(t.path("etc")), newest")
        && run.errorText.contains("choose one by --source PATH, --host NAME or --at ID"), "\(run.errorText)")
  }

  @Test("two machines that share a set keep their own snapshots", .enabled(if: Host.canMount))
  func machines() throws {
    let run = try run(
      """
      for number in 1 2; do
        for digit in 1 2 3 4 5 6 7 8; do printf 000$number; done >id$number
      done
      on() {
        unshare -mu sh -c 'mount --bind id'$1' /etc/machine-id && hostname host'$1' && shift &&
          XDG_STATE_HOME=$PWD/state'$1' exec "$@"' sh "$@"
      }
      for night in 1 2 3; do
        for machine in 1 2; do
          on $machine $BP backup -q --init --to set --keep-last 1 etc 2>/dev/null ||
            on $machine $BP backup -q --to set --keep-last 1 etc
        done
      done
      $BP snapshots set | grep -o 'host.*' | sed "s|$PWD/||" | says hosts
      restored "of a host" set --host host1 2>&1
      restored "without a choice" set 2>/dev/null
      ends "restore of a host elsewhere" $BP restore -q --host host1 -C one set
      ends "drill of a host" $BP drill -q --host host1 --source etc set
      $BP snapshots -q --host host2 set | wc -l | says "snapshots of the other host"
      on 1 $BP prune -q --keep-last 1 --group-by sources set
      $BP snapshots set | wc -l | says "snapshots after prune by sources"
      grep -lr 0001000100010001 set | wc -l | says "files with the number of a machine"
      """)
    run.expectSteps([
      "hosts": "host1: etc host2: etc", "restore of a host": "0", "files of a host": "./etc/e",
      "restore without a choice": "64", "files without a choice": "", "restore of a host elsewhere": "0",
      "drill of a host": "0", "snapshots of the other host": "1", "snapshots after prune by sources": "1",
      "files with the number of a machine": "0",
    ])
  }

  @Test("a dry run names the series that it continues or begins, and what it would remove")
  func dryRun() throws {
    let run = try run(
      """
      for night in 1 2; do $BP backup -q --to set --name srv home; done
      plan() {
        local name=$1
        shift
        $BP backup -n --to set --name srv --keep-last 1 "$@" 2>&1 >/dev/null | grep '^batchproc: would' |
          sed "s|$PWD/||g; s|[0-9TZ]*Z ([^)]*)|ID|g; s|of [^ ]*: |of HOST: |g; s|^batchproc: would |(|; s|$|)|" | says "$name"
      }
      plan "other sources would" home/deep
      plan "the same sources would" home
      $BP backup --to set --name srv --keep-last 1 home/deep 2>&1 | counts begins 'begins a new series'
      $BP backup --to set --name srv home/deep 2>&1 | counts "begins again" 'new series'
      series set
      restored "of home" set --source home
      """)
    let removed = "(remove the snapshot ID of HOST: home)"
    run.expectSteps([
      "other sources would":
        "(begin a new series, of HOST: home/deep: the other snapshots of the set are of other machines or "
        + "sources) (remove no snapshot)",
      "the same sources would": "(continue the series of HOST: home, last ID) \(removed) \(removed)",
      "begins": "1", "begins again": "0", "series": "2 home 2 home/deep", "restore of home": "0",
      "files of home": "./home/deep/d ./home/h",
    ])
  }

  @Test(
    "a run with failures removes nothing, here and in copies, and says so", .enabled(if: Host.canChangeUser))
  func failures() throws {
    let run = try run(
      """
      chmod -R a+rwX .
      back_up() {
        user $BP backup -q --to set --copy-to far --copy-keep-last 1 --keep-last 1 --metrics m "$@" etc home
      }
      success() { grep -v '#' m | grep last_success; }
      manifests() { ls set/*.manifest.zst far/*.manifest.zst | wc -l; }
      ends "without failures" back_up
      chmod 0 home/deep
      success >before
      ends "with a failure" back_up 2>error
      ends "with a failure again" back_up 2>/dev/null
      counts "removal is refused" 'no old snapshot is removed, since 1 input could' <error
      success | ends "the last success is the same" cmp before -
      manifests | says "manifests before prune"
      $BP snapshots -q set | grep -o '[0-9] failures*' | uniq -c | xargs | says listed
      $BP snapshots set 2>&1 >/dev/null |
        counts "advice of the list" 'have failures since .*--exclude.*--on unreadable=warn'
      $BP report set | counts "in the report" 'failures since'
      ends "monitoring before prune" $BP snapshots -q --max-age 1h --complete set >/dev/null
      for place in set far; do
        $BP prune -n --keep-last 1 $place | counts "kept in $place" 'newest without failures'
      done
      $BP prune -q --keep-last 1 set
      $BP copy -q --copy-keep-last 1 set far
      manifests | says "manifests after prune"
      ends "unreadable files are no failures" back_up --on unreadable=warn 2>/dev/null
      manifests | says "manifests at the end"
      $BP snapshots -q set | counts "failures at the end" '[0-9] failure'
      ends "monitoring at the end" $BP snapshots -q --max-age 1h --complete set >/dev/null
      """)
    run.expectSteps([
      "without failures": "0", "with a failure": "3", "with a failure again": "3", "removal is refused": "1",
      "the last success is the same": "0", "manifests before prune": "6", "listed": "2 1 failure",
      "advice of the list": "1", "in the report": "1", "monitoring before prune": "0", "kept in set": "1",
      "kept in far": "1", "manifests after prune": "4", "unreadable files are no failures": "0",
      "manifests at the end": "2", "failures at the end": "0", "monitoring at the end": "0",
    ])
  }

  @Test("--complete looks for the newest snapshot without failures", .enabled(if: Host.canChangeUser))
  func complete() throws {
    let run = try run(
      """
      chmod -R a+rwX .
      chmod 0 etc/e
      user $BP backup -q --to set etc home 2>/dev/null
      ends "without --complete" $BP snapshots -q --max-age 1h set >/dev/null
      $BP snapshots -q --max-age 1h --complete set 2>&1 >/dev/null |
        counts "with --complete" 'no snapshot without failures'
      ends "without --max-age" $BP snapshots --complete set 2>/dev/null
      """)
    run.expectSteps(["without --complete": "0", "with --complete": "1", "without --max-age": "64"])
  }

  @Test(
    "a snapshot from the future fails the monitoring, and the rules keep it", .enabled(if: Host.canPreload))
  func future() throws {
    try t.preloadClock()
    let run = try run(
      """
      $BP backup -q --to set etc
      LD_PRELOAD=$PWD/preload.so SHIFT=90000000 $BP backup -q --to set etc
      $BP snapshots -q --max-age 26h set 2>&1 >/dev/null | counts "named by the list" 'is in the future'
      ends list $BP snapshots -q --max-age 26h set >/dev/null 2>&1
      $BP report set 2>error | counts "named in the report" 'is in the future'
      ends report $BP report set >/dev/null 2>&1
      counts "named by the report" 'in the future' <error
      $BP prune -n --keep-last 1 set 2>/dev/null | sed 's/.*:[0-9]*//; s/  */ /g' | says kept
      $BP backup --to set --keep-daily 1 --metrics m etc 2>&1 | counts "named by the next backup" 'is in the future'
      ls set/*.manifest.zst | wc -l | says manifests
      ends "list after the next backup" $BP snapshots -q --max-age 26h set >/dev/null
      rm -r etc
      $BP backup -q --to set --metrics m etc 2>/dev/null
      success=$(grep -v '#' m | grep last_success | sed 's/.* //')
      ends "the last success is not in the future" test $success -le $(date +%s)
      """)
    run.expectSteps([
      "named by the list": "1", "list": "4", "named in the report": "3", "report": "4",
      "named by the report": "1", "kept": " keep in the future  keep last, newest verified",
      "named by the next backup": "1", "manifests": "2", "list after the next backup": "0",
      "the last success is not in the future": "0",
    ])
  }

  @Test(
    "encrypted jobs keep their own snapshots without a key, and no companion confirms a guess of the sources",
    .enabled(if: (try? Outcome(shell: "command -v age"))?.status == 0, "age is not installed"))
  func encrypted() throws {
    let run = try run(
      """
      $BP keygen -o key >recipient
      for night in 1 2 3; do
        for job in etc home; do
          echo $night >>$job/new
          $BP backup -q --to set --encrypt-to-file recipient --keep-last 2 $job
        done
      done
      increments -i key set
      series -i key set
      ls set/*.companion | wc -l | says companions
      restored "of etc" -i key set --source etc
      $BP prune -q --keep-last 1 set
      series -i key set
      cat set/*.companion |
        counts "words of sources" '"failures":0,"machine":"[0-9a-f]*","sources_word":"[0-9a-f]*"'
      ends verify $BP verify -q -i key set
      printf %s "$PWD/etc" | sha256sum | cut -c1-32 | grep -f - -c set/*.companion | grep -v :0 |
        says "digests of the path in companions"
      """)
    run.expectSteps([
      "increments": "+1 +1 +2 +2", "series": "2 etc 2 home", "companions": "6", "restore of etc": "0",
      "files of etc": "./etc/e ./etc/new", "series": "1 etc 1 home", "words of sources": "4", "verify": "0",
      "digests of the path in companions": "",
    ])
  }

  @Test("snapshots of earlier versions join the series of their sources, and encrypted ones the only series")
  func earlier() throws {
    let run = try run(
      """
      cat >strip.py <<'END'
      import hashlib, json, sys
      newer = ("machine", "host", "sources", "sources_word", "failures")
      for name in sys.argv[1:]:
          lines = open(name, "rb").read().splitlines()
          last = json.loads(lines.pop())
          kept = lambda line: {k: v for k, v in line.items() if k not in newer}
          first = json.dumps(kept(json.loads(lines[0])), separators=(",", ":")).encode()
          body = b"".join(line + b"\\n" for line in [first] + lines[1:])
          last = kept(last)
          if "footer" in last: last["footer"] += len(first) - len(lines[0])
          last["manifest_sha256" if "footer" in last else "sha256"] = hashlib.sha256(body).hexdigest()
          open(name, "wb").write(body + json.dumps(last, separators=(",", ":")).encode() + b"\\n")
      END
      $BP backup -q --to set etc
      $BP backup -q --to set home
      plain set/*.manifest.zst
      python3 strip.py set/*.manifest.zst
      $BP snapshots set | counts "of an unknown machine" 'unknown machine: '
      $BP backup -q --to set --keep-last 1 etc
      $BP backup -q --to set --keep-last 1 home
      series set
      increments set
      ends verify $BP verify -q set
      """)
    run.expectSteps([
      "of an unknown machine": "2", "series": "1 etc 1 home", "increments": "+1 +1", "verify": "0",
    ])
  }
}
