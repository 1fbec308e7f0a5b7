import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Root works on a tree to which another user may write, and that user constantly exchanges folders and links
/// in it. Nothing outside of the tree is written or removed, and no source is lost.
@Suite(
  .enabled(if: Host.canAttack, "needs root, setpriv and a C compiler"), .serialized, .timeLimit(.minutes(5)))
struct OtherUserTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let lines = Campaign.isFull ? 600_000 : 300_000
    // The vault belongs to root, and contains files that could be mistaken for those of the tree.
    let made = try t.shell(
      """
      mkdir vault up up/sub; seq \(lines) | split -l 300 -a 4 -d - up/sub/f; cp -rp up/sub kept; cp kept/* vault
      ln -s ../vault up/link; chown -Rh 1001:1001 up; chmod 700 vault
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// - Parameters:
  ///   - prepare: a command that runs before the state of the vault is saved.
  ///   - rounds: how often the command runs, since an attack does not always reach the critical moment.
  private func attack(
    _ command: String, prepare: String = ":", exchanging names: (String, String) = ("up/sub", "up/link"),
    rounds: Int = 4
  ) throws {
    let run = try t.shell(
      """
      for round in $(seq \(rounds)); do $BP \(command) -q 2>>errors; s=$?; [ $s -le 3 ] || echo "status $s"; done
      """, prepare: "\(prepare); cp -rp vault before", whileExchanging: names)
    #expect(run.status == 0 && run.text == "", "\(run.text.prefix(500)) \(run.errorText.prefix(500))")
    // A file that is missing must be restored by decompressing its output.
    let found = try t.shell(
      """
      diff -rq before vault; real=up/sub; [ -L up/sub ] && real=up/link
      find $real -name '*.gz' -exec gzip -dqf {} +; diff -rq kept $real; find . -name '.batchproc-*'
      """)
    #expect(found.text == "", "\(found.text.prefix(1000))")
  }

  @Test("removing sources is safe", arguments: ["--no-fsync -j 1", "--no-fsync -j 7", "-j 2"])
  func removing(options: String) throws {
    try attack("compress --remove-source \(options) up")
  }

  @Test("writing outputs is safe", arguments: ["--no-fsync", ""])
  func compressing(option: String) throws {
    try attack("compress --force \(option) up", prepare: "rm vault/*")
  }

  @Test("decompressing is safe", arguments: ["--no-fsync", "--remove-source"])
  func decompressing(option: String) throws {
    try attack("decompress --force \(option) up", prepare: "gzip -1 up/sub/*; rm vault/*")
  }

  @Test("linking outputs is safe")
  func links() throws {
    try attack(
      "compress --force up",
      prepare: "rm vault/*; mkdir up/more; cd up/sub; ln f0??? ../more; cd ../..; chown 1001 up/more",
      exchanging: ("up/more", "up/link"))
  }

  @Test("writing below a target to which the other user may write is safe")
  func mirrored() throws {
    try attack(
      "compress --force --output-dir out kept",
      prepare: "mkdir -p out/kept; ln -s ../vault out/link; chown -Rh 1001:1001 out; rm vault/*",
      exchanging: ("out/kept", "out/link"))
  }

  @Test("when two files are exchanged, each output has the owner and mode that belong to its content")
  func owners() throws {
    let run = try t.shell(
      """
      for round in $(seq 20); do
        $BP decompress --force -q up/o.gz up/s.gz 2>>errors
        for f in up/o up/s; do
          [ ! -e $f ] || [ "$(head -c 6 $f)" != secret ] || [ "$(stat -c '%u %a' $f)" = "0 600" ] || stat -c '%n %u %a' $f
        done
      done
      """,
      prepare: """
        seq 90000 | sed 's/^/secret /' | gzip -1 >up/s.gz; seq 90000 | gzip -1 >up/o.gz; touch -d @1 up/?.gz
        chown 1001 up/o.gz; chmod 644 up/o.gz; chmod 600 up/s.gz
        """, whileExchanging: ("up/o.gz", "up/s.gz"))
    #expect(run.status == 0 && run.text == "", "\(run.text) \(run.errorText)")
  }
}

extension TreeFixture {
  fileprivate func shell(
    _ script: String, prepare: String, whileExchanging names: (String, String)
  ) throws -> Outcome {
    let prepared = try shell(prepare)
    try #require(prepared.status == 0, "\(prepared.errorText)")
    return try shell(script, whileExchanging: names)
  }
}
