import BatchEngine
import TestSupport
import Testing

/// Several jobs and machines that share one set: each has its own series of snapshots.
@Suite(.timeLimit(.minutes(5))) struct SeriesTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir -p etc home/deep; echo e >etc/e; echo h >home/h; echo d >home/deep/d")
  }

  private func run(_ script: String) throws -> Outcome {
    try t.shell(
      """
      series() { $BP snapshots -q "$@" | sed "s|$PWD/||g; s|.*verified *||; s|[^ ]*: ||" | sort | uniq -c | xargs; }
      restored() { rm -rf out; $BP restore -q -C out "$@"; echo $?; (cd out$PWD 2>/dev/null && find . -type f | sort | tr '\\n' ' '); echo; }
      \(script)
      """, seconds: 120)
  }

  @Test("two jobs with the default name keep their own snapshots and increments")
  func jobs() throws {
    let run = try run(
      """
      for night in 1 2 3; do for job in etc home; do echo $night >>$job/new; $BP backup -q --to set --keep-last 2 $job; done; done
      series set; $BP snapshots set | awk '{print $4}' | tr '\\n' ' '; restored set --source etc; restored set --source home
      $BP prune -n --keep-last 1 set 2>/dev/null | grep -c remove; $BP prune -n --keep-last 1 --group-by none set 2>/dev/null | grep -c remove
      $BP snapshots --json set | grep -c '"machine":"[0-9a-f]*","host":"[^"]*","sources":\\[{"path":"'"$PWD"'/[a-z]*"}\\],"failures":0'
      """)
    #expect(
      run.text == """
        2 etc 2 home
        +1 +1 +2 +2 0
        ./etc/e ./etc/new 
        0
        ./home/deep/d ./home/h ./home/new 
        2
        3
        4

        """, "\(run.text)\(run.errorText)")
  }

  @Test("a restore of several series asks which one, unless a newer one has all sources")
  func choice() throws {
    let run = try run(
      """
      $BP backup -q --to set etc; $BP backup -q --to set home; restored set; $BP drill -q set 2>/dev/null; echo $?
      restored set --source home/h; restored set --at $($BP snapshots set | head -n 1 | cut -d' ' -f1)
      $BP snapshots -q --list latest --source etc set | wc -l; $BP backup -q --to set etc home; restored set
      """)
    #expect(
      run.text == """
        64

        64
        1

        0
        ./etc/e 
        2
        0
        ./etc/e ./home/deep/d ./home/h 

        """, "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("the set has snapshots of 2 series")
        && run.errorText.contains("\(t.path("etc")), newest")
        && run.errorText.contains("choose one by --source PATH, --host NAME or --at ID"), "\(run.errorText)")
  }

  @Test("two machines that share a set keep their own snapshots", .enabled(if: Host.canMount))
  func machines() throws {
    let run = try run(
      """
      for number in 1 2; do for digit in 1 2 3 4 5 6 7 8; do printf 000$number; done >id$number; done
      on() { unshare -mu sh -c 'mount --bind id'$1' /etc/machine-id && hostname host'$1' && shift && XDG_STATE_HOME=$PWD/state'$1' exec "$@"' sh "$@"; }
      for night in 1 2 3; do for machine in 1 2; do on $machine $BP backup -q --init --to set --keep-last 1 etc 2>/dev/null || on $machine $BP backup -q --to set --keep-last 1 etc; done; done
      $BP snapshots set | grep -o 'host.*' | sed "s|$PWD/||" | tr '\\n' ' '; restored set --host host1 2>&1; restored set 2>/dev/null
      $BP restore -q --host host1 -C one set; echo $?; $BP drill -q --host host1 --source etc set; echo $?; $BP snapshots -q --host host2 set | wc -l
      on 1 $BP prune -q --keep-last 1 --group-by sources set; $BP snapshots set | wc -l; grep -lr 0001000100010001 set | wc -l
      """)
    #expect(
      run.text == "host1: etc host2: etc 0\n./etc/e \n64\n\n0\n0\n1\n1\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a dry run names the series that it continues or begins, and what it would remove")
  func dryRun() throws {
    let run = try run(
      """
      for night in 1 2; do $BP backup -q --to set --name srv home; done
      plan() { $BP backup -n --to set --name srv --keep-last 1 "$@" 2>&1 >/dev/null | sed "s|$PWD/||g; s|[0-9TZ]*Z ([^)]*)|ID|g; s|of [^ ]*: |of HOST: |g" | grep '^batchproc: would'; }
      plan home/deep; plan home; $BP backup --to set --name srv --keep-last 1 home/deep 2>&1 | grep -c 'begins a new series'; $BP backup --to set --name srv home/deep 2>&1 | grep -c 'new series'
      series set; restored set --source home
      """)
    #expect(
      run.text == """
        batchproc: would begin a new series, of HOST: home/deep: the other snapshots of the set are of other machines or sources
        batchproc: would remove no snapshot
        batchproc: would continue the series of HOST: home, last ID
        batchproc: would remove the snapshot ID of HOST: home
        batchproc: would remove the snapshot ID of HOST: home
        1
        0
        2 home 2 home/deep
        0
        ./home/deep/d ./home/h 

        """, "\(run.text)\(run.errorText)")
  }

  @Test(
    "a run with failures removes nothing, here and in copies, and says so", .enabled(if: Host.canChangeUser))
  func failures() throws {
    let run = try run(
      """
      chmod -R a+rwX .; user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
      back_up() { user $BP backup -q --to set --copy-to far --copy-keep-last 1 --keep-last 1 --metrics m "$@" etc home; echo $?; }
      back_up; chmod 0 home/deep; success=$(grep -v '#' m | grep last_success); back_up 2>error; back_up 2>/dev/null; grep -c 'no old snapshot is removed, since 1 input could' error
      [ "$success" = "$(grep -v '#' m | grep last_success)" ] && echo kept; ls set/*.manifest far/*.manifest | wc -l; $BP snapshots -q set | grep -o '[0-9] failures*' | uniq -c | xargs
      $BP snapshots set 2>&1 >/dev/null | grep -c 'have failures since .*--exclude.*--on unreadable=warn'; $BP report set | grep -c 'failures since'
      $BP snapshots -q --max-age 1h --complete set >/dev/null; echo $?; for place in set far; do $BP prune -n --keep-last 1 $place | grep -c 'newest without failures'; done
      $BP prune -q --keep-last 1 set; $BP copy -q --copy-keep-last 1 set far; ls set/*.manifest far/*.manifest | wc -l
      back_up --on unreadable=warn 2>/dev/null; ls set/*.manifest far/*.manifest | wc -l; $BP snapshots -q set | grep -c '[0-9] failure'; $BP snapshots -q --max-age 1h --complete set >/dev/null; echo $?
      """)
    #expect(
      run.text == """
        0
        3
        3
        1
        kept
        6
        2 1 failure
        1
        1
        0
        1
        1
        4
        0
        2
        0
        0

        """, "\(run.text)\(run.errorText)")
  }

  @Test("--complete looks for the newest snapshot without failures", .enabled(if: Host.canChangeUser))
  func complete() throws {
    let run = try run(
      """
      chmod -R a+rwX .; chmod 0 etc/e; setpriv --reuid=65534 --regid=65534 --clear-groups $BP backup -q --to set etc home 2>/dev/null
      $BP snapshots -q --max-age 1h set >/dev/null; echo $?; $BP snapshots -q --max-age 1h --complete set 2>&1 >/dev/null | grep -c 'no snapshot without failures'
      $BP snapshots --complete set 2>/dev/null; echo $?
      """)
    #expect(run.text == "0\n1\n64\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a snapshot from the future fails the monitoring, and the rules keep it", .enabled(if: Host.canPreload))
  func future() throws {
    try t.preloadClock()
    let run = try run(
      """
      $BP backup -q --to set etc; LD_PRELOAD=$PWD/preload.so SHIFT=90000000 $BP backup -q --to set etc; $BP snapshots -q --max-age 26h set 2>&1 >/dev/null | grep -o 'is in the future'
      $BP snapshots -q --max-age 26h set >/dev/null 2>&1; echo $?; $BP report set 2>error | grep -c 'is in the future'; $BP report set >/dev/null 2>&1; echo $?; grep -c 'in the future' error
      $BP prune -n --keep-last 1 set 2>/dev/null | sed 's/.*:[0-9]*//'; $BP backup --to set --keep-daily 1 --metrics m etc 2>&1 | grep -c 'is in the future'; ls set/*.manifest | wc -l
      $BP snapshots -q --max-age 26h set >/dev/null; echo $?; rm -r etc; $BP backup -q --to set --metrics m etc 2>/dev/null; [ $(grep -v '#' m | grep last_success | sed 's/.* //') -le $(date +%s) ] && echo past
      """)
    #expect(
      run.text == """
        is in the future
        4
        3
        4
        1
          keep    in the future
          keep    last, newest verified
        1
        2
        0
        past

        """, "\(run.text)\(run.errorText)")
  }

  @Test(
    "encrypted jobs keep their own snapshots without a key, and no companion confirms a guess of the sources",
    .enabled(if: (try? Outcome(shell: "command -v age"))?.status == 0, "age is not installed"))
  func encrypted() throws {
    let run = try run(
      """
      $BP keygen -o key >recipient; for night in 1 2 3; do for job in etc home; do echo $night >>$job/new
      $BP backup -q --to set --encrypt-to-file recipient --keep-last 2 $job; done; done
      $BP snapshots -i key set | awk '{print $4}' | tr '\\n' ' '; series -i key set; ls set/*.companion | wc -l; restored -i key set --source etc
      $BP prune -q --keep-last 1 set; series -i key set; cat set/*.companion | grep -c '"failures":0,"machine":"[0-9a-f]*","sources_word":"[0-9a-f]*"'; $BP verify -q -i key set; echo $?
      printf %s "$PWD/etc" | sha256sum | cut -c1-32 | grep -f - -c set/*.companion | grep -v :0
      """)
    #expect(
      run.text == """
        +1 +1 +2 +2 2 etc 2 home
        4
        0
        ./etc/e ./etc/new 
        1 etc 1 home
        2
        0

        """, "\(run.text)\(run.errorText)")
  }

  @Test("snapshots of earlier versions join the series of their sources, and encrypted ones the only series")
  func earlier() throws {
    let run = try run(
      """
      cat >strip.py <<'END'
      import hashlib, json, sys
      for name in sys.argv[1:]:
          lines = open(name, "rb").read().splitlines()
          last = json.loads(lines.pop())
          kept = lambda line: {k: v for k, v in line.items() if k not in ("machine", "host", "sources", "sources_word", "failures")}
          first = json.dumps(kept(json.loads(lines[0])), separators=(",", ":")).encode()
          body = b"".join(line + b"\\n" for line in [first] + lines[1:])
          last = kept(last)
          if "footer" in last: last["footer"] += len(first) - len(lines[0])
          last["manifest_sha256" if "footer" in last else "sha256"] = hashlib.sha256(body).hexdigest()
          open(name, "wb").write(body + json.dumps(last, separators=(",", ":")).encode() + b"\\n")
      END
      $BP backup -q --to set etc; $BP backup -q --to set home; python3 strip.py set/*.manifest; $BP snapshots set | grep -c 'unknown machine: '
      $BP backup -q --to set --keep-last 1 etc; $BP backup -q --to set --keep-last 1 home; series set; $BP snapshots set | awk '{print $4}' | tr '\\n' ' '; $BP verify -q set; echo $?
      """)
    #expect(run.text == "2\n1 etc 1 home\n+1 +1 0\n", "\(run.text)\(run.errorText)")
  }
}
