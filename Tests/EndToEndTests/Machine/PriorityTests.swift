import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// The nice value and the I/O class of all threads of the process, not only of the first one.
@Suite(.timeLimit(.minutes(3))) struct PriorityTests {
  struct Case: Sendable, CustomStringConvertible {
    let prefix: String
    let options: String
    let nice: String
    /// The output of ionice; nil means the class of the tests.
    var ioClass: String?

    var description: String { "\(prefix) batchproc hash \(options)" }
  }

  private static let cases = [
    Case(prefix: "", options: "--qos background", nice: "19", ioClass: "idle"),
    Case(prefix: "", options: "--qos utility", nice: "10", ioClass: "best-effort: prio 7"),
    Case(prefix: "", options: "", nice: "0"),
    Case(prefix: "nice -n 7", options: "", nice: "7"),
    Case(prefix: "nice -n 7", options: "-j auto --progress plain", nice: "7"),
    Case(prefix: "nice -n 7", options: "--qos utility", nice: "10"),
    Case(prefix: "nice -n 12", options: "--qos utility", nice: "12"),
  ]

  private static let ofRoot = [
    Case(prefix: "nice -n -5", options: "", nice: "-5"),
    Case(prefix: "nice -n -5", options: "--qos utility", nice: "10"),
  ]

  /// The nice value of the tests, which started programs inherit.
  private static let own = Int(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))

  /// The expected nice value of a run: `nice` adds to the value of the tests, and --qos only raises it.
  private static func value(of one: Case) -> Int {
    let given = min(19, own + (one.prefix.split(separator: " ").last.flatMap { Int($0) } ?? 0))
    return one.options.contains("--qos") ? max(given, Int(one.nice) ?? 0) : given
  }

  /// Prints the nice values and then the I/O classes of all threads of `$pid` in one line, each once.
  private static let show = """
    show() {
      cut -d" " -f19 /proc/$pid/task/*/stat 2>/dev/null | sort -u | tr '\\n' ' '
      for task in /proc/$pid/task/*; do ionice -p ${task##*/} 2>/dev/null; done | sort -u | tr '\\n' ' '; echo
    }
    """

  private func check(_ cases: [Case], as user: String) throws {
    let t = try TreeFixture()
    let made = try t.shell(
      """
      mkdir t; for i in 1 2 3; do head -c 9M /dev/zero >t/$i; done; chmod 755 .
      mkfifo in out; chmod 666 in out
      """)
    try #require(made.status == 0, "\(made.errorText)")
    for one in cases { try check(one, as: user, in: t) }
  }

  /// Checks two runs: one that begins with standard input, and one that reaches standard input after large
  /// files, which several threads hash.
  private func check(_ one: Case, as user: String, in t: TreeFixture) throws {
    let run = try t.shell(
      """
      \(Self.show)
      for order in '- t' 't -'; do
        \(user) \(one.prefix) $BP hash -a blake3 -j 4 \(one.options) $order <in >out 2>errors & pid=$!
        exec 3>in 4<out
        if [ "$order" = 't -' ]; then for i in 1 2 3; do read -r row <&4; done; fi
        until [ $(ls /proc/$pid/task | wc -l) -gt 3 ]; do kill -0 $pid || break; done
        show; exec 3>&-; cat <&4 >rows; wait $pid || cat errors; exec 4<&-
      done
      """)
    #expect(run.errorText == "", "\(one)")
    let lines = run.text.split(separator: "\n")
    #expect(lines.count == 2, "\(one): \(run.text)")
    for line in lines {
      let nice = Self.value(of: one)
      #expect(line.hasPrefix("\(nice) "), "\(one): \(line)")
      if let ioClass = one.ioClass {
        #expect(line.dropFirst("\(nice)".utf8.count) == " " + ioClass + " ", "\(one): \(line)")
      }
    }
  }

  @Test("all threads have the requested nice value")
  func niceness() throws { try check(Self.cases, as: "") }

  @Test(
    "all threads of root have the requested value, although libdispatch may set any value",
    .enabled(if: Host.isRoot, "needs root"))
  func nicenessOfRoot() throws { try check(Self.ofRoot, as: "") }

  @Test("all threads of another user have the requested value", .enabled(if: Host.isRoot, "needs root"))
  func nicenessOfUser() throws {
    try check(Self.cases, as: "setpriv --reuid=65534 --regid=65534 --clear-groups")
  }

  @Test("a hook has the nice value and the capabilities with which the program was started")
  func hooks() throws {
    let t = try TreeFixture()
    let run = try t.shell(
      """
      mkdir t; echo content >t/file; grep CapEff /proc/self/status
      nice -n 7 $BP backup -q --to set --before 'nice >nice; grep CapEff /proc/self/status >capabilities' t
      cat capabilities nice
      """)
    let lines = run.text.split(separator: "\n")
    #expect(run.errorText == "" && lines.count == 3 && lines.last == "\(Self.own + 7)", "\(run.text)")
    #expect(lines.first == lines.dropFirst().first)
  }
}
