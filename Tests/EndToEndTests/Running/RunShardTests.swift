import TestSupport
import Testing

/// A run that is divided among shards has the outputs and the rows of a run on one machine.
@Suite(.timeLimit(.minutes(4))) struct RunShardTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      "mkdir -p d/sub; for n in $(seq 20); do echo $n >d/f$n; done; echo s >d/sub/s.a; echo t >d/sub/s.b; echo x >'d/-x'"
    )
  }

  private func shards(_ count: Int, _ options: String, _ command: String, merge: String = "") -> String {
    """
    "$BP" plan -q --no-fsync --shards \(count) --out p -- run \(options) -- \(command) || echo plan $?
    for i in $(seq 0 $((\(count) - 1))); do "$BP" run -q -j 3 --no-fsync --plan p --shard $i; echo "$?" >>statuses; done
    "$BP" merge \(merge) p
    """
  }

  @Test("standard output of the children is joined in the order of the tree", arguments: [1, 4, 7])
  func rows(count: Int) throws {
    let command =
      "sh -c 'echo $BATCHPROC_SHARD >>seen; echo $BATCHPROC_NUMBER $1; cat \"$1\"; [ $1 != d/f7 ]' x"
    let run = try t.shell(
      """
      "$BP" run -j 7 d -- \(command) >one; rm seen; \(shards(count, "d", command)) >joined 2>errors; echo $?; cmp one joined
      grep -c 'd/f7: the command ended with status 1' errors; sort -u statuses | tail -1; sort -u seen | wc -l
      """)
    #expect(run.text == "3\n1\n3\n\(count)\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "outputs are those of one machine, and the rows of the shards name them", arguments: [1, 4, 7],
    ["--suffix .o", "--replace-suffix .o", "--suffix .o --output-dir out"])
  func outputs(count: Int, options: String) throws {
    let copies = options.contains("output-dir")
    let run = try t.shell(
      """
      cp -a d e; mv d first; cp -a first d
      "$BP" run -q \(options) d -- cp {} {out} 2>errors; echo $?; \(copies ? "mv out one; mkdir d.one" : "mv d d.one; mkdir one"); rm -rf d; cp -a first d
      \(shards(count, options + " d", "cp {} {out}", merge: "-q -o rows")) 2>>errors; echo $?; \(copies ? "diff -r out one" : "diff -r d d.one")
      python3 -c 'import json; print(len([1 for l in open("rows") if json.loads(l)["outcome"] == "written"]))'; ls one d.one | grep -c batchproc
      grep -c 'has the same output' errors
      """)
    let (status, written, conflicts) = options.contains("replace") ? (3, 22, 2) : (0, 23, 0)
    #expect(run.text == "\(status)\n\(status)\n\(written)\n0\n\(conflicts)\n", "\(run.text)\(run.errorText)")
  }

  @Test("a plan whose folder others can write to is refused: it holds a command", .enabled(if: Host.isRoot))
  func untrusted() throws {
    let run = try t.shell(
      """
      "$BP" plan -q --no-fsync --shards 2 --out p -- run d -- cat; chmod 777 p; "$BP" run --plan p --shard 0; echo $?
      chmod 755 p; chmod 666 p/plan.json; "$BP" run --plan p --shard 0; echo $?; chmod 644 p/plan.json; chown 1001 p/plan.json
      "$BP" run --plan p --shard 0; echo $?; chown 0 p/plan.json; "$BP" run --plan p --shard 0 -- rm -rf d; echo $?
      """)
    #expect(run.text == "64\n64\n64\n64\n", "\(run.text)\(run.errorText)")
  }
}
