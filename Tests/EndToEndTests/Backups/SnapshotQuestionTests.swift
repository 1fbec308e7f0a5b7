import BatchEngine
import Foundation
import TestSupport
import Testing

/// What `snapshots` shows: where a path is, the content of a snapshot, the differences of two, and the age of
/// the newest one.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Host.canPreload)) struct SnapshotQuestionTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.preloadClock()
    let made = try t.shell(
      """
      day() { shift=$((86400 * $1)); shift; LD_PRELOAD=$PWD/preload.so SHIFT=$shift $BP backup -q --to set "$@"; }
      mkdir -p src/docs
      seq 9 >src/docs/report.txt
      echo one >src/other
      ln -s docs src/link
      day 1 src
      seq 10 >src/docs/report.txt
      day 2 src
      chmod 600 src/docs/report.txt
      day 3 src
      rm src/docs/report.txt
      day 4 src
      seq 10 >src/docs/report.txt
      day 5 src
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("--find shows which snapshots contain a path, and where it changed")
  func find() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      root=${PWD#/}
      $BP snapshots -q set --find report.txt | awk '{print $2, $3, $4}' | paste -sd , | says "changes of a file"
      globs=('*.txt' 'docs/*' '/*/report.txt' 'docs/report.txt' "/$root/src/docs/report.txt" /docs/report.txt '*c/d*')
      for glob in "${globs[@]}"; do
        $BP snapshots -q set --find "$glob" 2>/dev/null | wc -l | says "lines for ${glob/"$root"/ROOT}"
      done
      ends "a path of no snapshot" $BP snapshots set --find nothing 2>errors
      head -n 1 errors | says "its message"
      $BP snapshots -q set --find 'docs/' | awk '{print $2, $NF}' | sed "s|$root/||" | head -n 1 |
        says "first row of a folder"
      $BP snapshots --json set --find other |
        counts "in JSON" '"type":"found".*"change":"same".*"kind":"file","size":4'
      """)
    run.expectSteps([
      "changes of a file": "first 18 B,changed 21 B,touched 21 B,new 21 B",
      "lines for *.txt": "4", "lines for docs/*": "4", "lines for /*/report.txt": "4",
      "lines for docs/report.txt": "4", "lines for /ROOT/src/docs/report.txt": "4",
      "lines for /docs/report.txt": "0", "lines for *c/d*": "9",
      "a path of no snapshot": "1", "its message": "batchproc: nothing: no snapshot has a path that matches",
      "first row of a folder": "first src/docs/", "in JSON": "4",
    ])
  }

  @Test(
    "--find prints digests and names of any bytes, and names a damaged manifest"
  )
  func odd() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      name=$(printf 'q"\\\\\\377\\n')
      echo x >"src/$name"
      $BP backup -q --to set src
      $BP snapshots -q set --find 'q*' | awk '{print $2}' | says "change of the odd name"
      $BP snapshots -q set --find other | awk '{print $NF, $(NF - 1)}' | sort -u |
        counts "digest" "$(sha256sum src/other | cut -c1-12)$"
      plain $(ls set/*.manifest.zst | head -n 1)
      sed -i 's/"size":4/"size":5/' $(ls set/*.manifest.zst | head -n 1)
      $BP snapshots -q set --find other 2>errors | wc -l | says "lines beside a damaged manifest"
      ends "status beside a damaged manifest" $BP snapshots -q set --find other >/dev/null 2>&1
      counts "the damaged manifest is named" 'its digest is not the recorded one' <errors
      """)
    run.expectSteps([
      "change of the odd name": "new", "digest": "1", "lines beside a damaged manifest": "5",
      "status beside a damaged manifest": "3", "the damaged manifest is named": "1",
    ])
  }

  @Test("--list lists a snapshot, or the matching files")
  func list() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      id=$(ls set/*.manifest.zst | head -n 1 | grep -o '[0-9]*T[0-9]*Z')
      root=${PWD#/}
      $BP snapshots -q set --list $id | sed "s|$root/||" | says "all files"
      $BP snapshots -q set --list latest '*.txt' -l | sed "s|$root/||; s|.*:[0-9]* ||" | says "files with -l"
      ends "end of a path" $BP snapshots -q set --list $id docs/report.txt 2>errors
      sed "s|$root/||" errors | says "its message"
      $BP snapshots -q set --list $id '*.txt' | wc -l | says "files of a glob"
      $BP snapshots -q set --list $id --digests other | sed "s|$root/||" | says "digest"
      $BP snapshots --json set --list $id | counts "in JSON" '"type":"member"'
      """)
    let digest = try t.shell("sha256sum src/other").text.split(separator: " ")[0]
    run.expectSteps([
      "all files": "src/ src/link src/other src/docs/ src/docs/report.txt",
      "files with -l": "src/docs/report.txt", "end of a path": "1",
      "its message":
        "batchproc: docs/report.txt: nothing in the snapshot matches (did you mean 'src/docs/report.txt'?)",
      "files of a glob": "1", "digest": "\(digest)  src/other", "in JSON": "5",
    ])
  }

  @Test("--diff compares two snapshots, also of different sources")
  func compare() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      ids=($(ls set/*.manifest.zst | grep -o '[0-9]*T[0-9]*Z'))
      short() { sed "s|${PWD#/}/||; s| (.*||"; }
      $BP snapshots -q set --diff ${ids[0]} ${ids[1]} | grep -v METADATA | short | says "after a change"
      $BP snapshots -q set --diff ${ids[2]} ${ids[3]} | short | says "after a removal"
      ends "last with itself" $BP snapshots -q set --diff ${ids[4]}
      mkdir more
      echo m >more/m
      $BP backup -q --to set src more
      $BP snapshots -q set --diff ${ids[4]} | short | says "after another source"
      ends "three ids" $BP snapshots -q set --diff ${ids[4]} latest extra
      """)
    run.expectSteps([
      "after a change": "src/docs/report.txt: MODIFIED",
      "after a removal": "src/docs: METADATA src/docs/report.txt: MISSING",
      "last with itself": "0", "after another source": "more: NEW more/m: NEW", "three ids": "64",
    ])
  }

  @Test("all sets of a folder are listed, with headings on a terminal only")
  func sets() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP backup -q --to set --name home src
      $BP snapshots set | awk '{print $1}' | uniq -c | awk '{print $1, $2}' | says "snapshots of each set"
      $BP snapshots set --name home | wc -l | says "snapshots of one set"
      script -qec "$BP snapshots set" /dev/null | tr -d '\\r' | grep -vE '^[0-9]' >terminal
      $BP snapshots --json set | grep -o '"set":"[a-z]*"' | uniq | says "sets in JSON"
      $BP snapshots -q set --find other | awk '{print $1}' | uniq | says "sets of --find"
      ends "restore without --name" $BP restore -q set -C out
      """)
    run.expectSteps([
      "snapshots of each set": "5 backup 1 home", "snapshots of one set": "1",
      "sets in JSON": "\"set\":\"backup\" \"set\":\"home\"", "sets of --find": "backup home",
      "restore without --name": "1",
    ])
    let terminal = t.text("terminal") ?? ""
    #expect(
      terminal.hasPrefix("backup:\nID                TIME ") && terminal.contains("\n\nhome:\nID  "),
      "\(terminal)")
  }

  @Test("--max-age ends with 4 when a set is too old, or has no snapshot")
  func age() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      # later NAME HOURS OPTION...: looks at the age of the set after some hours.
      later() {
        LD_PRELOAD=$PWD/preload.so SHIFT=$((3600 * $2)) ends "$1" $BP snapshots -q "${@:3}" 2>errors >/dev/null
        grep -o 'is .* old, and.*' errors | says "its message"
      }
      later "young enough" 124 --max-age 26h set
      later "too old" 150 --max-age 26h set
      later "too old for another limit" 124 --max-age 1h set
      mkdir none
      ends "without a set" $BP snapshots -q --max-age 26h none >/dev/null 2>&1
      ends "without a set of the name" $BP snapshots -q --max-age 26h --name x set >/dev/null 2>&1
      $BP backup -q --to set --name old src
      later "one of two sets is too old" 124 --max-age 26h set
      """)
    run.expectSteps([
      "young enough": "0", "its message": "",
      "too old": "4", "its message": "is 1d06h old, and --max-age is 1d02h",
      "too old for another limit": "4", "its message": "is 4h00m old, and --max-age is 1h00m",
      "without a set": "4", "without a set of the name": "4",
      "one of two sets is too old": "4", "its message": "is 5d04h old, and --max-age is 1d02h",
    ])
  }

  @Test("contradictory options, and arguments that the command does not have, are usage errors")
  func usage() throws {
    for arguments in ["--find a --list latest", "--list nonsense", "extra", "--find *.txt other"] {
      let run = try t.shell("set -f; $BP snapshots set \(arguments)")
      #expect(run.status == 64, "\(arguments): \(run.errorText)")
    }
  }

  @Test("the counts of verify add up, whatever is damaged")
  func counts() throws {
    let run = try t.shell(
      """
      $BP backup -q --to set --full src
      a=$(ls set/*.tar.zst | head -n 1)
      cp $a keep
      counts='"seen":\\([0-9]*\\),"done":\\([0-9]*\\),"failed":\\([0-9]*\\)'
      show() {
        $BP verify --json set 2>/dev/null | sed -n '/"type":"summary"/{ s/.*'"$counts"',.*/\\1 \\2 \\3/; p; }'
      }
      show
      printf damaged | dd of=$a bs=1 seek=40 conv=notrunc status=none
      show
      cp keep $a
      echo garbage >>$a
      show
      """)
    let lines = run.text.split(separator: "\n").map { $0.split(separator: " ").compactMap { Int($0) } }
    #expect(lines.count == 3 && lines.allSatisfy { $0.count == 3 && $0[0] == $0[1] + $0[2] }, "\(run.text)")
  }

  @Test("verify reads the whole set, and the shares of a cycle read each segment once")
  func verify() throws {
    try t.shell(
      """
      for i in $(seq 40); do head -c 300k /dev/urandom >src/docs/$i; done
      $BP backup -q --to set --full src
      """)
    let verified = try t.shell(
      """
      $BP verify set 2>&1 | grep -o 'verified [0-9]* members'
      for n in 1 2 3; do $BP verify --share $n/3 set 2>&1 | grep -o 'verified [0-9]* members'; done
      """)
    let counts = verified.text.matches(of: /verified (\d+) members/).compactMap { Int($0.output.1) }
    #expect(counts.count == 4 && counts.dropFirst().reduce(0, +) == counts[0], "\(verified.text)")
    let run = try t.shell(
      """
      \(Steps.functions)
      newest=$(ls -S set/*.tar.zst | head -n 1)
      cp $newest keep
      printf damaged | dd of=$newest bs=1 seek=2000 conv=notrunc status=none
      ends "verify a damaged archive" $BP verify -q set >named 2>errors
      ends "damaged files are named" grep -q DAMAGED named
      for n in 1 2 3; do $BP verify -q --share $n/3 set >/dev/null 2>&1; echo $?; done | sort | says "shares"
      cp keep $newest
      rm $newest
      $BP verify -q set 2>&1 | counts "named as missing" 'is missing, and snapshots need it'
      ends "share 0" $BP verify --share 0/3 set
      ends "share of the day" $BP verify --share today/3 -q set 2>/dev/null
      """)
    run.expectSteps([
      "verify a damaged archive": "4", "damaged files are named": "0", "shares": "0 0 4",
      "named as missing": "1", "share 0": "64", "share of the day": "4",
    ])
  }

  @Test(
    "rows are written together, not one by one", .enabled(if: Host.canTrace),
    arguments: [
      "snapshots --list latest many", "snapshots --list latest --json many", "snapshots --find 'f1*' many",
      "snapshots --digests many", "restore -n -C none many", "restore -n --json -C none many",
      "audit $(ls many/*.manifest.zst) empty", "audit --json $(ls many/*.manifest.zst) empty",
    ])
  func rowsTogether(command: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir tree empty
      for n in $(seq 1000 3000); do : >tree/f$n; done
      $BP backup -q --no-verify --to many tree
      strace -f -qq --seccomp-bpf -e trace=write -o log $BP \(command) >rows 2>/dev/null
      ends "there are many rows" test $(wc -l <rows) -gt 900
      ends "there are few writes" test $(grep -c write log) -lt 60
      """)
    run.expectSteps(["there are many rows": "0", "there are few writes": "0"])
  }
}
