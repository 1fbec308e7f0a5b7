import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Signals that arrive during a long call of a codec.
@Suite(.timeLimit(.minutes(2))) struct HardLevelSignalTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("a signal ends a run within a block")
  func signal() throws {
    // One block, whose compression takes longer than the deadline below.
    let run = try t.shell(
      """
      mkdir w; base64 /dev/urandom | head -c 80M >w/hard
      stop() { # input, arguments
        $BP compress -j1 --output-dir o --format $2 <$1 >out & p=$!
        # In hundredths of a second of processor time; reading takes only a few.
        until [ "$(cut -d ' ' -f 14 /proc/$p/stat)" -gt 40 ]; do sleep 0.05; done
        kill $p; start=$SECONDS; wait $p; echo "$? $((SECONDS - start < 8))"
        find . -name '.batchproc-*' -o -name '*.xz' -o -name '*.zst'
      }
      stop /dev/null 'xz -l 9 w'; stop w/hard 'zst -l 22 -'
      """, seconds: 20)
    #expect(run.text == "143 1\n143 1\n", "\(run.text)\(run.errorText)")
  }
}
