import TestSupport
import Testing

/// Copies of sets whose archives were compacted here, there, or at both places.
@Suite(
  .enabled(if: CompactionFixture.isPossible, "needs cc, python3, age and zstd"), .timeLimit(.minutes(60)))
struct CompactedCopyTests {
  private static let hasRclone = (try? Outcome(shell: "command -v rclone"))?.status == 0
  private let fixture: CompactionFixture

  init() throws { fixture = try CompactionFixture() }

  @Test("a larger archive at the other place stays, and counts as equal", arguments: [false, true])
  func larger(isEncrypted: Bool) throws {
    let run = try fixture.run(
      """
      nights 6
      "$BP" copy -q set far
      far=$(sizes far)
      "$BP" prune -q --keep-last 2 $K set
      [ $(sizes set) -lt $far ] && echo smaller | says here
      for option in "" --checksum; do
        ends "copy $option" "$BP" copy $option -v set far >copied 2>&1
        counts "copied $option" '^copy' <copied
        [ $(sizes far) = $far ] && echo same | says there
      done
      restores far $K | says "restores there"
      ends "verify there" "$BP" verify -q far
      # Without the archives the snapshots come back as they were.
      "$BP" copy -q far back
      restores back $K | says "restores of a copy of the copy"
      rm -rf set; mkdir set; cp -a far/. set/
      restores set $K | says "restores after a copy by hand"
      """, isEncrypted: isEncrypted)
    run.expectSteps([
      "here": "smaller", "copy ": "0", "copied ": "0", "there": "same", "copy --checksum": "0",
      "copied --checksum": "0", "there": "same", "restores there": "6", "verify there": "0",
      "restores of a copy of the copy": "6", "restores after a copy by hand": "6",
    ])
  }

  @Test("a copy back replaces compacted archives by larger ones, and never the other way")
  func back() throws {
    let run = try fixture.run(
      """
      nights 6
      "$BP" copy -q set far
      "$BP" prune -q --keep-last 1 set
      small=$(sizes set)
      ends "copy back" "$BP" copy -q far set
      restores set | says "restores here"
      [ $(sizes set) = $(sizes far) ] && echo same | says sizes
      "$BP" prune -q --keep-last 1 set
      # There are fewer snapshots, and the archive there is compacted by their needs.
      "$BP" prune -q --keep-last 3 far
      [ $(sizes far) -gt $small ] && echo larger | says there
      cp $(ls far/*.zst | head -1) before
      ends "copy again" "$BP" copy -q set far
      cmp before $(ls far/*.zst | head -1) && echo kept | says there
      ends "copy back again" "$BP" copy -q far set
      restores set | says "restores here"
      restores far | says "restores there"
      """)
    run.expectSteps([
      "copy back": "0", "restores here": "6", "sizes": "same", "there": "larger", "copy again": "0",
      "there": "kept", "copy back again": "0", "restores here": "3", "restores there": "3",
    ])
  }

  @Test("an archive that lacks what is needed is reported, and the snapshots are not copied")
  func lacking() throws {
    let run = try fixture.run(
      """
      nights 6
      cp -a set other
      "$BP" prune -q --keep-last 2 set
      # An archive of the same name with other members.
      a=$(basename $(ls set/*.zst | head -1))
      mkdir far; cp -a other/.backup.id far/.backup.copy
      "$BP" extract -q -C x other/$a; rm -rf x$PWD/src/d/?12; (cd x && "$BP" archive -q -o ../far/$a .)
      ends copy "$BP" copy -q set far 2>errors
      counts named 'lacks members that snapshots here need' <errors
      ls far/*.manifest.zst 2>/dev/null | wc -l | says manifests
      """)
    run.expectSteps(["copy": "3", "named": "1", "manifests": "0"])
  }

  @Test(
    "the copy keeps more nights than the set, both are compacted, and copies are killed in the middle",
    .enabled(if: Host.canTrace), arguments: [false, true])
  func nights(isEncrypted: Bool) throws {
    let (count, here, there) = Campaign.isFull ? (75, 3, 60) : (10, 2, 6)
    let run = try fixture.run(
      """
      GROWS=1
      whole() { restores $1 $K >found; [ $(wc -l <found) = 1 ] || cat found >&3; }
      for night in $(seq \(count)); do
        night $night --keep-last \(here)
        [ -z "$K" ] || "$BP" prune -q --keep-last \(here) $K set
        strace -qq -f -o trace -e trace=renameat,renameat2 -e inject=renameat,renameat2:signal=KILL:when=$((night % 4 + 1)) \\
          "$BP" copy -q --copy-keep-last \(there) set far
        [ $((night % 3)) = 0 ] || "$BP" copy -q --copy-keep-last \(there) set far || echo "night $night: $?" >&3
        [ -z "$K" ] || "$BP" prune -q --keep-last \(there) -i key far
        # No second copy has followed in each third night.
        [ $((night % \(count > 10 ? 10 : 3))) != 0 ] || { whole far; whole set; }
      done 2>/dev/null
      ends "last copy" "$BP" copy -q --copy-keep-last \(there) set far
      restores set $K | says here
      restores far $K | says there
      "$BP" verify -q far; "$BP" verify -q $K far; "$BP" verify -q set
      ends copy "$BP" copy -q --checksum set far
      """, isEncrypted: isEncrypted, seconds: Campaign.isFull ? 1500 : 200)
    run.expectSteps(["last copy": "0", "here": "\(here)", "there": "\(there)", "copy": "0"])
  }

  @Test(
    "remotes of rclone are not compacted, and what a killed copy left there is replaced",
    .enabled(if: Self.hasRclone))
  func rclone() throws {
    let run = try fixture.run(
      """
      mkdir base
      printf '[off]\\ntype = alias\\nremote = %s\\n' "$PWD/base" >rclone.conf
      nights 6
      "$BP" copy -q set off:far
      before=$(sizes base/far)
      "$BP" prune -q --keep-last 2 set
      ends copy "$BP" copy -q --copy-keep-last 2 set off:far
      [ $(sizes base/far) = $before ] && echo same | says there
      restores off:far | says restores
      ends "with --checksum" "$BP" copy -q --checksum set off:far
      # A part of an archive, as a killed copy leaves it.
      rm base/far/*.manifest*; truncate -s 5000 $(ls base/far/*.zst | head -1)
      ends "after a kill" "$BP" copy -q set off:far
      restores base/far | says "restores after a kill"
      """)
    run.expectSteps([
      "copy": "0", "there": "same", "restores": "2", "with --checksum": "0", "after a kill": "0",
      "restores after a kill": "2",
    ])
  }
}
