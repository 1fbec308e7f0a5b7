import TestSupport
import Testing

/// `prune` and `backup` replace archives of which little is needed by smaller ones.
@Suite(.enabled(if: CompactionFixture.isPossible, "needs cc, python3, age and zstd"), .timeLimit(.minutes(6)))
struct CompactionTests {
  private let fixture: CompactionFixture

  init() throws { fixture = try CompactionFixture() }

  @Test("what stays is restored, and stock tools read the smaller archives", arguments: [false, true])
  func prune(isEncrypted: Bool) throws {
    let run = try fixture.run(
      """
      nights 6
      before=$(sizes set)
      "$BP" prune -n --keep-last 2 $K set 2>&1 | counts "dry run" 'archive  *compact .* to'
      "$BP" prune -n --keep-last 2 $K --json set | counts "dry run as JSON" '"kept":true,"bytes_before":[0-9]*,"bytes"'
      [ $(sizes set) = $before ] && echo same | says "after a dry run"
      "$BP" prune --no-compact --keep-last 3 $K set 2>&1 | says "without compaction"
      [ $(sizes set) = $before ] && echo same | says "size without compaction"
      "$BP" prune --min-used 0 --keep-last 3 $K set 2>&1 | says "with a bound of 0"
      "$BP" prune --keep-last 2 $K set 2>&1 | sed 's/[0-9.]* [KM]iB/N/' | says "with compaction"
      [ $(sizes set) -lt $((before / 2)) ] && echo smaller | says size
      restores set $K | says restores
      stock set | says "stock tools"
      ends verify "$BP" verify -q $K set
      ends drill "$BP" drill -q --all $K set
      ends "verify without a key" "$BP" verify -q set
      after=$(sizes set)
      "$BP" prune --keep-last 2 $K set 2>&1 | says again
      [ $(sizes set) = $after ] && echo same | says "size after that"
      stat -c %a $(ls set/*.tar.zst* | head -1) | says mode
      ls -a set | counts temporary batchproc
      night 7
      restores set $K | says "after the next night"
      """, isEncrypted: isEncrypted)
    run.expectSteps([
      "dry run": "1", "dry run as JSON": "1", "after a dry run": "same",
      "without compaction": "removed 3 snapshots and 1 archive; 3 snapshots stay",
      "size without compaction": "same",
      "with a bound of 0": "removed 0 snapshots and 0 archives; 3 snapshots stay",
      "with compaction":
        "removed 1 snapshot and 1 archive, compacted 1 archive and won N; 2 snapshots stay",
      "size": "smaller", "restores": "2", "stock tools": "", "verify": "0", "drill": "0",
      "verify without a key": "0", "again": "removed 0 snapshots and 0 archives; 2 snapshots stay",
      "size after that": "same", "mode": "600", "temporary": "0", "after the next night": "3",
    ])
  }

  @Test("a backup with rules compacts, and an encrypted set needs a key for it", arguments: [false, true])
  func backup(isEncrypted: Bool) throws {
    let run = try fixture.run(
      """
      nights 5
      before=$(sizes set)
      night 6 --keep-last 2 --no-compact
      [ $(sizes set) = $before ] && echo same | says "without compaction"
      night 7 --keep-last 2
      ([ $(sizes set) = $before ] && echo same || echo smaller) | says "with compaction"
      restores set $K | says restores
      ends verify "$BP" verify -q $K set
      "$BP" prune --keep-last 2 $K set 2>&1 | counts "with the key" 'compacted'
      night 8 --keep-last 1 --min-used 100
      restores set $K | says "restores again"
      """, isEncrypted: isEncrypted)
    run.expectSteps([
      "without compaction": "same", "with compaction": isEncrypted ? "same" : "smaller", "restores": "2",
      "verify": "0", "with the key": isEncrypted ? "1" : "0", "restores again": "1",
    ])
  }

  @Test("the companion of a compacted archive has its new digest and its first one")
  func companion() throws {
    let run = try fixture.run(
      """
      nights 6
      a=$(ls set/*.tar.zst.age | head -1)
      old=$(sha256sum <$a | cut -c1-64)
      head -c 100 $a | sha256sum >header
      "$BP" prune -q --keep-last 2 -i key set
      new=$(sha256sum <$a | cut -c1-64)
      c=${a%.tar.zst.age}.companion
      counts "new digest" "archive_sha256.:.$new" <$c
      counts "first digest" "original_sha256.:.$old" <$c
      counts "no other one" replacement <$c
      head -c 100 $a | sha256sum | cmp - header && echo same | says "header of age"
      # As an interruption leaves it, before and after the archive got its name.
      python3 - $c $old <<'END'
      import hashlib, json, sys
      lines = open(sys.argv[1], "rb").read().split(b"\\n")
      row = json.loads(lines[0])
      row["replacement_size"], row["replacement_sha256"] = row["archive_size"], row["archive_sha256"]
      row["archive_size"], row["archive_sha256"] = row["original_size"], row["original_sha256"]
      line = json.dumps(row, separators=(",", ":")).encode() + b"\\n"
      end = {"type": "end", "sha256": hashlib.sha256(line).hexdigest()}
      open(sys.argv[1], "wb").write(line + json.dumps(end, separators=(",", ":")).encode() + b"\\n")
      END
      ends "verify in between" "$BP" verify -q set
      ends "verify the file in between" "$BP" verify -q $a
      ends "copy in between" "$BP" copy -q set far
      ends "prune without a key" "$BP" prune -q --keep-last 2 set
      counts "settled digest" "archive_sha256.:.$new" <$c
      counts "settled" replacement <$c
      restores set -i key | says restores
      restores far -i key | says "restores of the copy"
      """, isEncrypted: true)
    run.expectSteps([
      "new digest": "1", "first digest": "1", "no other one": "0", "header of age": "same",
      "verify in between": "0", "verify the file in between": "0", "copy in between": "0",
      "prune without a key": "0", "settled digest": "1", "settled": "0", "restores": "2",
      "restores of the copy": "2",
    ])
  }

  @Test("a damaged archive is not compacted, and one line says so", arguments: [false, true])
  func damage(isEncrypted: Bool) throws {
    let run = try fixture.run(
      """
      nights 6
      cp -a set whole
      a=$(ls set/*.tar.zst* | head -1)
      for place in 3000 $(($(sizes set) - 2000)) $(($(sizes set) - 30)); do
        rm -rf set; cp -a whole set
        flip $a $place
        cp $a before
        "$BP" prune -q --keep-last 2 $K set 2>errors; echo $? >>status
        grep -c 'is not compacted' errors >>lines
        cmp $a before || echo changed
        ls -a set | grep batchproc
      done | says changes
      sort -u status | says status
      sort -u lines | says lines
      rm -rf set; cp -a whole set
      flip $a 3000
      "$BP" verify -q $K set >/dev/null 2>&1
      "$BP" prune -q --keep-last 2 $K set 2>&1 | counts "known damage" 'is not compacted'
      """, isEncrypted: isEncrypted)
    run.expectSteps(["changes": "", "status": "0", "lines": "1", "known damage": "1"])
  }

  @Test("without space one line says so, and nothing else changes", .enabled(if: Host.canMount))
  func fullDisk() throws {
    let run = try fixture.run(
      """
      cat >go <<'END'
      mkdir disk; mount -t tmpfs -o size=64M t disk
      cp -a set disk/
      head -c 100M /dev/zero >disk/filler 2>/dev/null
      cp $(ls disk/set/*.tar.zst | head -1) before
      # What the removal frees is used up too.
      "$BP" prune -q --no-compact --keep-last 2 disk/set
      head -c 100M /dev/zero >>disk/filler2 2>/dev/null
      "$BP" prune -q --keep-last 2 disk/set; echo "status $?"
      cmp before $(ls disk/set/*.tar.zst | head -1); ls -a disk/set | grep batchproc
      rm disk/filler*
      "$BP" prune --keep-last 2 disk/set 2>&1 | grep -c 'compacted 1 archive'
      cp -a disk/set after
      END
      nights 6
      unshare -m --propagation private bash go 2>&1 | sed 's/.*is not/is not/' >&3
      restores after | says restores
      """)
    #expect(
      run.text
        == "is not compacted: there is no space for the smaller archive beside it\nstatus 0\n1\nrestores: 2\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("backup and copy take the options of compaction")
  func options() throws {
    let run = try fixture.run(
      """
      nights 6; cp -a set far
      ends backup $BP backup -q --to set --keep-last 2 --no-compact src
      ends "backup again" $BP backup -q --to set --keep-last 1 --min-used 20% src
      ends copy $BP copy -q --copy-keep-last 2 --no-compact set far
      ends "copy again" $BP copy -q --copy-keep-last 1 --min-used 90% set far
      ends verify $BP verify -q set; ends "verify the copy" $BP verify -q far
      """)
    run.expectSteps([
      "backup": "0", "backup again": "0", "copy": "0", "copy again": "0", "verify": "0",
      "verify the copy": "0",
    ])
  }

  @Test(
    "a kill at any call leaves all snapshots whole, and the next run completes the work",
    .enabled(if: Host.canTrace), arguments: [false, true])
  func kills(isEncrypted: Bool) throws {
    let run = try fixture.run(
      """
      nights 6
      "$BP" prune -q --no-compact --keep-last 2 $K set
      cp -a set first
      for call in write copy_file_range fsync renameat renameat2 fchmod; do
        # There are at most 12 of a call. All kills at a rename are tried.
        case $call in rename*) places="1 2 3" ;; *) places="1 3 12" ;; esac
        for n in \(Campaign.isFull ? "$(seq 40)" : "$places"); do
          rm -rf set; cp -a first set
          strace -qq -f -o trace -e trace=$call -e inject=$call:signal=KILL:when=$n "$BP" prune -q --keep-last 2 $K set
          [ $? = 137 ] || break
          echo killed >>kills
          "$BP" verify -q set || echo "$call $n: verify"
          found=$(restores set $K)
          [ "$found" = 2 ] || echo "$call $n: $found"
          "$BP" prune -q --keep-last 2 $K set || echo "$call $n: next"
          [ $(sizes set) -lt $(($(sizes first) / 2)) ] || echo "$call $n: not compacted"
          ls -a set | grep batchproc
          "$BP" verify -q set || echo "$call $n: verify after"
        done
      done 2>/dev/null | says problems
      [ $(wc -l <kills) -ge 5 ] && echo enough | says kills
      restores set $K | says restores
      """, isEncrypted: isEncrypted)
    run.expectSteps(["problems": "", "kills": "enough", "restores": "2"])
  }

  @Test("while a set is read nothing is replaced, and a line says so")
  func readers() throws {
    let run = try fixture.run(
      """
      nights 6
      "$BP" prune -q --no-compact --keep-last 2 set
      before=$(sizes set)
      python3 - <<'END' &
      import fcntl, struct, sys, time, os
      file = open("set/.backup.lock", "r+b")
      fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 1, 1, 0))
      open("locked", "w").close()
      while not os.path.exists("done"): time.sleep(0.02)
      END
      until [ -e locked ]; do sleep 0.01; done
      ends prune "$BP" prune -q --keep-last 2 set 2>errors
      counts line 'is not compacted: a restore, drill or verification reads the set' <errors
      [ $(sizes set) = $before ] && echo same | says size
      touch done; wait
      ends "after that" "$BP" prune -q --keep-last 2 set
      [ $(sizes set) -lt $before ] && echo smaller | says "size after that"
      """)
    run.expectSteps([
      "prune": "0", "line": "1", "size": "same", "after that": "0", "size after that": "smaller",
    ])
  }
}
