import TestSupport

extension TreeFixture {
  /// Shell functions for a program that runs under `strace -o trace -e inject=CALL:signal=STOP ... & pid=$!`,
  /// which stops the whole program after a thread has made such a call.
  static let stops = """
    # Waits until the program has stopped for the N-th time.
    stopped() {
      until [ "$(grep -sc -- '--- SIGSTOP' trace)" -ge $1 ] 2>/dev/null; do sleep 0.005; done
      program=$(awk '/^Tgid/ { print $2 }' /proc/$(awk 'NR == 1 { print $1 }' trace)/status)
    }
    go_on() { kill -CONT $program; }
    # Lets the program continue to its end, also when other threads stop it again.
    finish() { while kill -CONT $program 2>/dev/null; do sleep 0.01; done; wait $pid; }
    """
}
