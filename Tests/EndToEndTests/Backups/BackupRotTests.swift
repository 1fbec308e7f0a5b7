import BatchEngine
import TestSupport
import Testing

/// Bytes that change on the device, while size and times of their file stay the same.
@Suite(.timeLimit(.minutes(4)), .enabled(if: Host.canMountImages && Host.hasPython && Host.canPreload))
struct BackupRotTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.preloadClock()
    // A small file, a file with two names, one that is read before it is archived, and one that is archived in blocks.
    try t.shell(
      """
      cat >change.py <<'EOF'
      import sys
      data = open("image", "rb").read()
      for word in sys.argv[1:]:
        place = data.find(word.encode())
        assert place > 0
        with open("image", "r+b") as file:
          file.seek(place)
          file.write(b"N")
      EOF
      cat >begin <<'EOF'
      truncate -s 64M image
      mkfs.ext4 -qF image
      mkdir m
      mount -o loop image m
      echo small-one >m/small
      echo named-one >m/named
      ln m/named m/other
      echo fine >m/fine
      head -c 6M /dev/zero >m/middle
      printf middle-one | dd of=m/middle bs=1 seek=3000000 conv=notrunc status=none
      head -c 20M /dev/zero >m/large
      printf large-one | dd of=m/large bs=1 seek=15000000 conv=notrunc status=none
      cp -a m good
      sync -f m
      EOF
      cat >rot <<'EOF'
      umount m
      python3 change.py small-one named-one middle-one large-one
      mount -o loop image m
      EOF
      """)
  }

  private func shell(_ script: String) throws -> Outcome {
    try t.shell(
      """
      cat >go <<'EOF'
      \(Steps.functions)
      backup() {
        LD_PRELOAD=$PWD/preload.so SHIFT=$(( (n += 1) * 86400 )) ends "$1" $BP backup -q --to set "${@:2}" m
      }
      . ./begin
      \(script)
      EOF
      unshare -m --propagation private bash go
      """)
  }

  @Test(
    "the snapshot keeps the bytes from before, the status is 4, and nothing is removed here and in copies",
    arguments: [("", ""), ("--full", "fine\n"), ("--full-every 1", "fine\n")])
  func kept(option: String, stored: String) throws {
    let run = try shell(
      """
      backup "before the rot" --copy-to copy
      . ./rot
      for i in 1 2; do
        backup "backup $i" --checksum \(option) --keep-last 1 --copy-to copy --copy-keep-last 1 \\
          --on-failure 'echo "$BATCHPROC_OUTCOME" >>told' --metrics metrics
      done
      says "told to the hook" <told
      ls set/*.manifest.zst copy/*.manifest.zst | wc -l | says "snapshots and copies"
      tar --zstd -tf $(ls set/*.tar.zst | tail -n 1) | grep -v /$ | sed 's|.*/||' | says "archived files"
      $BP restore -q -C out set
      rm -rf good/lost+found out$PWD/m/lost+found
      ends "bytes from before" diff -r good out$PWD/m
      ends "hard link" test out$PWD/m/named -ef out$PWD/m/other
      grep exit_status metrics | tail -n 1 | says "metrics"
      """)
    run.expectSteps([
      "before the rot": "0", "backup 1": "4", "backup 2": "4", "told to the hook": "failure failure",
      "snapshots and copies": "6", "archived files": String(stored.dropLast()), "bytes from before": "0",
      "hard link": "0",
      "metrics": "batchproc_backup_exit_status{set=\"backup\"} 4",
    ])
    for file in ["small", "named", "other", "middle", "large"] {
      #expect(
        run.errorText.split(separator: "\n").count {
          $0.contains("m/\(file): ROT") && $0.contains("--accept-rot")
        } == 2,
        "\(run.errorText)")
    }
    #expect(!run.errorText.contains("m/fine"))
  }

  @Test("--accept-rot archives the new bytes, removes nothing in that run, and the next one is as usual")
  func accepted() throws {
    let run = try shell(
      """
      backup "before the rot"
      . ./rot
      backup "backup that accepts it" --checksum --accept-rot --keep-last 1
      ls set/*.manifest.zst | wc -l | says "snapshots after it"
      backup "next backup" --checksum --keep-last 1
      ls set/*.manifest.zst | wc -l | says "snapshots at the end"
      $BP restore -q -C out set
      ends "new bytes" diff -r m out$PWD/m
      ends "hard link" test out$PWD/m/named -ef out$PWD/m/other
      """)
    run.expectSteps([
      "before the rot": "0", "backup that accepts it": "4", "snapshots after it": "2", "next backup": "0",
      "snapshots at the end": "1", "new bytes": "0", "hard link": "0",
    ])
  }
}
