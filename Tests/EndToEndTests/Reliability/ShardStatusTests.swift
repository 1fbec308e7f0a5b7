import BatchEngine
import TestSupport
import Testing

/// The status of a command is that of its plan, shards and merge.
@Suite(.enabled(if: Host.canChangeUser, "needs a file that cannot be read"), .timeLimit(.minutes(5)))
struct ShardStatusTests {
  enum Input: String, CaseIterable {
    case whole, missing, unreadable, empty, allMissing, oneOfTwo

    /// The paths of a command that reads trees.
    var trees: String {
      switch self {
      case .whole: "whole"
      case .missing: "none"
      case .unreadable: "$locked"
      case .empty: "empty"
      case .allMissing: "none none2"
      case .oneOfTwo: "whole none"
      }
    }

    /// The paths of a command that reads manifests.
    var manifests: String {
      switch self {
      case .whole: "m.whole"
      case .missing: "none"
      case .unreadable: "m.locked"
      case .empty: "m.empty"
      case .allMissing: "none none2"
      case .oneOfTwo: "m.whole none"
      }
    }
  }

  /// Makes the folder `model`, of which each command gets a copy. Its files are compressed for commands that read
  /// compressed files.
  private static func makeModel(in t: TreeFixture, isPacked: Bool) throws {
    let name = isPacked ? "shard-status-packed" : "shard-status"
    try t.copy(PathBytes(name)) { t in
      let made = try t.shell(
        """
        mkdir model; cd model; mkdir whole locked empty; for i in 1 2 3 4 5; do seq $((i * 900)) >whole/$i; done
        \(isPacked ? "$BP compress -q --remove-source whole" : "")
        cp whole/* locked/; rm -f locked/[2-5]*; chmod 755 . whole locked empty; chmod 000 locked/*; chmod 644 whole/*
        "$BP" hash -q -o m.whole whole; sed s,whole/,locked/, m.whole | head -1 >m.locked; : >m.empty
        cp m.whole good; chown -R 65534 .
        """)
      try #require(made.status == 0, "\(made.errorText)")
    }
  }

  /// The copies are `work0` for the command itself, and `workN` for N shards.
  private static let functions = #"""
    alone() { cd work0; "$BP" "$@" >/dev/null 2>&1; echo $?; cd ..; }
    divided() {
      n=$1
      shift
      cd work$n
      "$BP" plan -q --shards $n --out p -- "$@" >/dev/null 2>&1
      s=$?
      [ $s = 0 ] || { echo $s; cd ..; return; }
      for ((i = 0; i < n; i++)); do
        "$BP" $1 -q --plan p --shard $i >/dev/null 2>errors
        s=$?
        case $s in 0|3|4) ;; *) echo "shard $i: $s $(cat errors)" ;; esac
      done
      "$BP" merge -q p >/dev/null 2>&1
      echo $?
      cd ..
    }
    """#

  @Test(
    "is the same for each number of shards",
    arguments: [
      ("hash", "-o out"), ("check", ""), ("archive", "-o out.tar.zst"), ("compress", ""), ("decompress", ""),
      ("test", ""),
    ], Input.allCases)
  func status(command: (name: String, options: String), input: Input) throws {
    let takesOnePath = ["compress", "decompress"].contains(command.name)
    if takesOnePath, [.allMissing, .oneOfTwo].contains(input) { return }
    let paths = command.name == "check" ? input.manifests : input.trees
    let t = try TreeFixture()
    try Self.makeModel(in: t, isPacked: ["decompress", "test"].contains(command.name))
    let run = try t.shell(
      """
      export XDG_STATE_HOME=$PWD/state; mkdir -m 777 state
      for n in 0 1 4 7; do cp -a model work$n; done
      # The name depends on whether the files are compressed.
      export locked=$(cd model; echo locked/1*)
      setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '\(Self.functions)
      alone \(command.name) \(command.options) \(paths); for n in 1 4 7; do divided $n \(command.name) \(command.options) \(paths); done'
      """, seconds: 120)
    let statuses = run.text.split(separator: "\n")
    #expect(statuses.count == 4 && Set(statuses).count == 1, "\(run.text)\(run.errorText)")
    let expected =
      switch input {
      case .whole: "0"
      case .missing, .allMissing: "1"
      case .unreadable: command.name == "check" ? "3" : "1"
      case .empty: command.name == "check" ? "4" : "0"
      case .oneOfTwo: "3"
      }
    #expect(statuses.first.map(String.init) == expected, "\(run.text)\(run.errorText)")
  }
}
