import TestSupport
import Testing

/// Runs that are stopped: no child is left, no half output has a final name, and the next run does the rest.
@Suite(.timeLimit(.minutes(4))) struct RunEndTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir d; for n in $(seq 60); do echo $n >d/f$n; done")
  }

  @Test(
    "after kill -9 no child and no process of a child is left, and the next run does the rest",
    arguments: [1, 7])
  func killed(concurrency: Int) throws {
    let run = try t.shell(
      #"""
      cat >tool <<'E'
      #!/bin/sh
      echo $$ >>pids; sleep 300 & echo $! >>pids
      if [ -e slow ]; then echo half >"$2"; [ ${1#d/} = f3 ] && touch there; sleep 300; fi
      kill $!; cp "$1" "$2"
      E
      chmod +x tool
      "$BP" run -q -j 2 --suffix .o d/f1 d/f10 -- ./tool {} {out}; echo $?
      touch slow; "$BP" run -q -j \#(concurrency) --suffix .o d/f1 d/f10 d/f3 d/f4 d/f5 -- ./tool {} {out} & pid=$!
      while [ ! -e there ]; do sleep 0.01; done
      kill -9 $pid; wait $pid 2>/dev/null
      # A process that nobody has waited for yet has ended too.
      runs() { local state; read -r _ _ state _ </proc/$1/stat && [ $state != Z ]; } 2>/dev/null
      for pid in $(cat pids); do while runs $pid; do sleep 0.01; done; done
      LC_ALL=C ls d/*.o; rm slow pids
      "$BP" run --suffix .o d/f1 d/f10 d/f3 d/f4 d/f5 -- ./tool {} {out}; echo $?; cat d/f3.o; ls -A d | grep -c batchproc; wc -l <pids
      """#, seconds: 100)
    #expect(run.text == "0\nd/f1.o\nd/f10.o\n0\n3\n0\n6\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("2 up to date"), "\(run.errorText)")
  }

  @Test("kill -9 at any moment leaves no half output and no child, and no file is changed twice")
  func randomKills() throws {
    let run = try t.shell(
      #"""
      cat >tool <<'E'
      #!/bin/sh
      exec 9>>alive; echo a >"$2"; cat "$1" >>"$2"; echo z >>"$2"
      E
      chmod +x tool; mkdir p; for n in $(seq 30); do echo a$n >p/f$n; done
      for turn in $(seq \#(Campaign.costlyCases(200))); do
        rm -f d/*.o p/*; for n in $(seq 30); do echo a$n >p/f$n; done
        for last in 0 1; do
          "$BP" run -q -j 3 --suffix .o d -- ./tool {} {out} & one=$!; "$BP" run -q -j 3 --in-place p -- sed -i s/a/aa/ & two=$!
          if [ $last = 0 ]; then sleep 0.0$((RANDOM % 10))$((RANDOM % 10)); kill -9 $one $two 2>/dev/null; fi
          wait $one $two 2>/dev/null
          for f in d/*.o; do [ -e $f ] || continue; IFS= read -r -d '' is <$f; [[ $is == $'a\n'+([0-9])$'\nz\n' ]] || echo half $f; done
          for n in $(seq 30); do IFS= read -r -d '' is <p/f$n; [[ $is == a$n$'\n' || $is == aa$n$'\n' ]] || echo wrong $is; done
        done
        ls d/*.o | wc -l; cat p/* | grep -c aa; ls -A d p | grep -c batchproc
      done | sort | uniq -c | awk '{ print $2, $3 }'
      while fuser -s alive tool; do sleep 0.01; done
      """#, seconds: 200)
    #expect(run.text == "0 \n30 \n60 \n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a signal reaches the children, and complete outputs keep their names",
    arguments: [("INT", 130), ("TERM", 143), ("HUP", 129)], [1, 7])
  func signalled(signal: (name: String, status: Int), concurrency: Int) throws {
    let run = try t.shell(
      #"""
      cat >tool <<'E'
      #!/bin/bash
      trap 'echo got >>signals; exit 1' INT TERM
      [ "$1" = d/f1 ] && exec cp "$1" "$2"
      echo half >"$2"; touch there; while :; do sleep 0.02; done
      E
      chmod +x tool
      env --default-signal=INT "$BP" run -j \#(concurrency) --no-fsync --suffix .o d/f1 d/f2 d/f3 -- ./tool {} {out} 2>errors & pid=$!
      while [ ! -e there ] || [ ! -e d/f1.o ]; do sleep 0.01; done
      kill -\#(signal.name) $pid; wait $pid; echo $?; ls -A d | grep -e o$ -e batch; sort -u signals; grep -o 'interrupted: 1 file done' errors
      """#, seconds: 60)
    let status = signal.name == "HUP" ? 143 : signal.status
    #expect(
      run.text.hasPrefix("\(status)\n") || run.text.hasPrefix("\(signal.status)\n"),
      "\(run.text)\(run.errorText)")
    #expect(run.text.hasSuffix("\nf1.o\ngot\ninterrupted: 1 file done\n"), "\(run.text)\(run.errorText)")
  }

  @Test("a reader that closes standard output ends the run quietly, and its children")
  func closedOutput() throws {
    let run = try t.shell(
      """
      yes | head -c 10000000 >d/f1; "$BP" run d/f1 d/f2 -- cat | head -1; echo ${PIPESTATUS[0]}
      """, seconds: 60)
    #expect(run.text == "y\n141\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "few descriptors, no /proc, and no terminal settings are enough",
    arguments: ["ulimit -n 64", "export LC_ALL=C TERM=dumb", "unset PATH HOME TMPDIR"])
  func limits(limit: String) throws {
    let run = try t.shell(
      """
      (\(limit); "$BP" run -q -j 7 d -- /bin/cat | /usr/bin/wc -l; "$BP" run -q -j 7 --suffix .o d -- /bin/cp {} {out}; echo $?)
      cat d/f*.o | wc -l; "$BP" run -q --in-place d/f1 -- sed -i s/1/2/; cat d/f1
      """)
    #expect(run.text == "60\n0\n60\n2\n", "\(run.text)\(run.errorText)")
  }

  @Test("too few descriptors are named, and nothing is started")
  func descriptors() throws {
    let run = try t.shell("ulimit -n 24; \"$BP\" run d -- touch ran; echo $?; ls ran 2>/dev/null")
    #expect(run.text == "1\n" && run.errorText.contains("ulimit -n"), "\(run.text)\(run.errorText)")
  }

  @Test("without /proc the run says what to mount", .enabled(if: Host.canMount, "needs mounts"))
  func withoutProc() throws {
    let run = try t.shell(
      "unshare -m sh -c 'mount -t tmpfs none /proc; \"$BP\" run d -- touch ran; echo $?'; ls ran 2>/dev/null")
    #expect(run.text == "1\n" && run.errorText.contains("mount -t proc"), "\(run.text)\(run.errorText)")
  }

  @Test(
    "a limit of processes is waited for while children run, and is named when none runs",
    .enabled(if: Host.isRoot))
  func processes() throws {
    let run = try t.shell(
      """
      chmod 777 . d; id=$((20000 + RANDOM))
      setpriv --reuid=$id --regid=$id --clear-groups bash -c 'export HOME=$PWD XDG_STATE_HOME=$PWD; ulimit -u 40; "$BP" run -q -j 32 d -- sh -c "sleep 0.1; cat \\$1" x | wc -l; echo ${PIPESTATUS[0]}'
      """, seconds: 60)
    let lines = run.text.split(separator: "\n").map(String.init)
    // With fewer threads than it needs, the run says so and ends with 1.
    #expect(
      lines == ["60", "0"] || (lines.last == "1" && run.errorText.contains("ulimit -u")),
      "\(run.text)\(run.errorText)")
  }

  @Test("nice and the priority class of --qos apply to the children")
  func priority() throws {
    let run = try t.shell("\"$BP\" run -q --qos background d/f1 -- sh -c nice")
    #expect((Int(run.text.dropLast()) ?? 0) > 5, "\(run.text)\(run.errorText)")
  }
}
