import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Stops, full disks, changing sources and other users: no partial file has a final name, and nothing outside is touched.
@Suite(.timeLimit(.minutes(5))) struct MirrorSafetyTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test(
    "a run that was killed leaves no partial file, and the next one completes the work",
    .enabled(if: Host.hasPython))
  func killed() throws {
    let rounds = Campaign.costlyCases(200)
    let run = try t.shell(
      """
      mkdir -p src/d; text=$(seq 3000); for n in $(seq 400); do printf '%s\\n' $n "$text" >src/d/f$n; done; head -c 70000000 /dev/urandom >src/large; ln src/d/f1 src/l
      (cd src; find . -type f -exec sha256sum {} +) | sort >sums
      for round in $(seq \(rounds)); do
        rm -rf dst; options=$([ $((round % 2)) = 0 ] && echo --no-fsync)
        timeout -s KILL $(awk -v r=$round -v n=\(rounds) 'BEGIN { print 0.01 + 0.4 * r / n }') "$BP" mirror -q -j 3 $options src/ dst
        # What has its final name in the target is whole.
        [ ! -d dst ] || diff -rq -x '.batchproc-*' src dst | grep -v '^Only in src'
        "$BP" mirror -q src/ dst || echo $?; rsync -anHAXS --delete --itemize-changes src/ dst/
      done
      (cd src; find . -type f -exec sha256sum {} +) | sort | cmp - sums; echo end
      """, seconds: 280)
    #expect(run.text == "end\n", "\(run.text.prefix(2000))\(run.errorText.prefix(2000))")
  }

  @Test("a full disk ends with 5, and the next run completes the work", .enabled(if: Host.canMount))
  func full() throws {
    let run = try t.shell(
      """
      cat >go <<'E'
      mkdir src dst; for n in $(seq 40); do head -c 200000 /dev/urandom >src/f$n; done; mount -t tmpfs -o size=4M t dst
      "$BP" mirror src dst 2>errors; echo $?; for f in dst/src/*; do cmp $f src/${f##*/}; done; find dst -name '.batchproc-*'
      mount -o remount,size=40M dst; "$BP" mirror -q src dst; echo $?; rsync -an --itemize-changes src dst/
      E
      unshare -m --propagation private bash go
      """)
    #expect(run.text == "5\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "files that change, grow, shrink or vanish while they are copied have the right status",
    .enabled(if: Host.hasPython))
  func changing() throws {
    let run = try t.shell(
      """
      mkdir src; for n in $(seq 60); do head -c 700000 /dev/zero >src/f$n; done
      python3 - <<'E' &
      import os, random
      dice = random.Random(1)
      open("begun", "w").close()
      while not os.path.exists("done"):
          name = "src/f%d" % dice.randrange(1, 61)
          try:
              step = dice.randrange(4)
              if step == 0: open(name, "ab").write(b"x" * 5000)
              elif step == 1: os.truncate(name, 600000)
              elif step == 2: open(name, "r+b").write(b"y" * 300)
              else: os.unlink(name); open(name, "wb").write(b"n" * 650000)
          except FileNotFoundError: pass
      E
      until [ -e begun ]; do sleep 0.01; done
      for round in 1 2 3 4 5; do "$BP" mirror -q --no-fsync src/ dst 2>/dev/null; s=$?; [ $s = 0 ] || [ $s = 3 ] || echo $s; done
      touch done; wait
      "$BP" mirror -q src/ dst; echo $?; rsync -anc --delete --itemize-changes src/ dst/
      """, seconds: 100)
    #expect(run.text == "0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "root is not led outside by another user who exchanges folders and links in the source or in the target",
    .enabled(if: Host.canAttack, "needs root, setpriv and a C compiler"),
    arguments: ["src/d", "dst/src/d"])
  func attacked(place: String) throws {
    try t.shell(
      """
      mkdir -p src/d vault dst/src; for n in $(seq 300); do echo $n >src/d/f$n; echo secret $n >vault/f$n; done; echo only >vault/only
      cp -a src/d dst/src/d; ln -s "$PWD/vault" \(place.split(separator: "/").dropLast().joined(separator: "/"))/link; chmod 700 vault
      chown -Rh 1001:1001 src dst; cp -a vault before
      """)
    let run = try t.shell(
      """
      for round in $(seq 6); do
        find src/ -name 'f*' -exec touch -c {} + 2>/dev/null
        mkdir -p dst/src/gone; : >dst/src/gone/f$round
        $BP mirror -q --no-fsync \(place.hasPrefix("src") ? "--delete --max-delete 100000" : "") src dst 2>/dev/null; s=$?; [ $s -le 5 ] || echo "status $s"
      done
      """,
      whileExchanging: (place, place.split(separator: "/").dropLast().joined(separator: "/") + "/link"))
    #expect(run.text == "", "\(run.text.prefix(500))")
    let found = try t.shell("diff -r before vault && grep -rls secret dst; find dst -name only")
    #expect(found.text == "", "\(found.text.prefix(1000))")
  }
}
