import TestSupport
import Testing

/// How much of a set only one snapshot needs.
@Suite(.timeLimit(.minutes(4))) struct SnapshotUsageTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    // Random bytes are stored as they are. The sizes are multiples of 100,000 bytes.
    try t.shell(
      """
      mkdir src
      for i in 2 3 4; do head -c ${i}00000 /dev/urandom >src/f$i; done
      head -c 6000000 /dev/urandom >src/image
      find src -exec touch -d 2020-01-01 {} +
      """)
  }

  private func shell(_ script: String) throws -> Outcome {
    try t.shell(
      """
      \(Steps.functions)
      # In hundreds of 1,000 bytes, since members have headers.
      usage() { $BP snapshots --usage --json set "$@" | jq -r 'select(.id) | .only_bytes / 100000 | round' | xargs; }
      \(script)
      """)
  }

  private static let nights = """
    back
    sleep 1.1; mv src/f3 src/moved; rm src/f2; head -c 700000 /dev/urandom >src/new; back
    sleep 1.1; rm src/new; printf x | dd of=src/image bs=1 seek=3000000 conv=notrunc status=none
    head -c 500000 /dev/urandom >src/last; back
    """

  @Test("a content of several snapshots counts for none of them; of changed blocks only these count")
  func plain() throws {
    let run = try shell(
      """
      back() { ends backup $BP backup -q --to set src; }
      \(Self.nights)
      usage | says usage
      $BP snapshots --usage set | grep -o 'KiB.*KiB' | wc -l | says "rows with two sizes"
      before=$(du -b --apparent-size set/*.tar.zst | awk '{s += $1} END {print s}')
      ends prune $BP prune -q --keep-last 2 --min-used 100 set
      after=$(du -b --apparent-size set/*.tar.zst | awk '{s += $1} END {print s}')
      echo "won: $(( (before - after + 50000) / 100000 ))"; usage | says "after it"
      ends digests $BP snapshots --usage --digests set
      last=$(ls set/*.tar.zst | tail -n 1); truncate -s -200 "$last"; head -c 200 /dev/zero >>"$last"
      ends "with damage" $BP snapshots --usage set >rows 2>errors; counts "named archive" "^batchproc: $last: " <errors
      """)
    run.expectSteps([
      "backup": "0", "backup": "0", "backup": "0", "usage": "2 7 6", "rows with two sizes": "2", "prune": "0",
      "won": "2",
      "after it": "7 6", "digests": "64", "with damage": "4",
      "named archive": "1",
    ])
  }

  @Test("an encrypted set needs its key")
  func encrypted() throws {
    let run = try shell(
      """
      r=$($BP keygen -o key 2>&1 | grep -o 'age1[0-9a-z]*' | head -1)
      back() { ends backup $BP backup -q --to set --encrypt-to $r src; }
      \(Self.nights)
      usage --identity key | says usage
      ends "without the key" $BP snapshots --usage set 2>errors; counts "named option" -- --identity <errors
      """)
    run.expectSteps([
      "backup": "0", "backup": "0", "backup": "0", "usage": "2 7 6", "without the key": "1",
      "named option": "1",
    ])
  }
}
