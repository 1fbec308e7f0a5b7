import BatchCore
import BatchEngine
import TestSupport
import Testing

extension TreeFixture {
  /// Runs a shell script while another user exchanges two names as fast as possible.
  ///
  /// The exchanges begin before the script and end after it. The other user is 1001 and may write to the
  /// folders of both names. Suites that call this must be enabled only if ``Host/canAttack``.
  ///
  /// - Parameters:
  ///   - script: a script for ``shell(_:)``, which root runs.
  ///   - names: the names that are exchanged with `renameat2(RENAME_EXCHANGE)`.
  func shell(_ script: String, whileExchanging names: (String, String)) throws -> Outcome {
    try file("attack.c", Self.attack)
    return try shell(
      """
      cc -O1 -o attack attack.c && chmod 755 attack || exit 99
      exec 8< <(exec setpriv --reuid=1001 --regid=1001 --clear-groups ./attack \(names.0) \(names.1))
      attacker=$!
      read -r -t 30 -u 8 line; [ "$line" = ready ] || { echo "no attack: $line" >&2; exit 99; }
      \(script)
      kill $attacker
      """)
  }

  private static let attack = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <string.h>
    int main(int count, char **names) {
      for (int isReady = 0;;) {
        int failed = renameat2(AT_FDCWD, names[1], AT_FDCWD, names[2], RENAME_EXCHANGE);
        if (failed && errno != ENOENT) return puts(strerror(errno)), 1;
        if (failed || isReady) continue;
        puts("ready");
        fflush(stdout);
        isReady = 1;
      }
    }
    """
}
