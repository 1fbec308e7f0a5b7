import BatchEngine

/// The script that submits the three jobs.
struct SlurmScript {
  let program: PathBytes
  let workingFolder: PathBytes
  let folder: PathBytes
  let shards: Int
  /// The arguments after the name of the program.
  let plan: [PathBytes]
  let command: PathBytes
  /// Where the merge writes the result; nil if the command has none besides its outputs.
  let output: PathBytes?
  let options: [PathBytes]
  let waits: Bool

  var text: ShellText {
    // A line of a name must not end the document that holds it.
    let lines = plan.flatMap { $0.bytes.split(separator: UInt8(ascii: "\n")) }
    var end = "JOB"
    while lines.contains(where: { $0.elementsEqual(end.utf8) }) { end += "_" }
    return """
      #!/bin/sh
      # One job plans, an array of \(shards) tasks processes a shard each, and the last job merges, however the tasks ended.
      set -eu
      most=$(scontrol show config | sed -n 's/^MaxArraySize *= *//p')
      if [ \(shards) -gt "${most:-1001}" ]; then
        echo "\(shards) shards are more than this Slurm allows in an array (MaxArraySize is $most)" >&2
        exit 64
      fi
      program=\(program)
      plan=\(folder)
      logs=\(PathBytes(folder.bytes + Array(".logs".utf8)))
      result=\(output ?? "")
      export program plan result
      if [ -e "$plan/plan.json" ]; then
        echo "$plan has a plan already: choose another directory, or remove it" >&2
        exit 1
      fi
      mkdir -p "$logs"
      cd \(workingFolder)

      first=$(sbatch --parsable --job-name=batchproc-plan --output="$logs/plan.log" --requeue\(words: options) <<'\(end)'
      #!/bin/sh
      # A job that was requeued finds its plan.
      test -f "$plan/plan.json" && exit 0
      exec "$program"\(words: plan)
      \(end)
      )

      # 3, 4 and 20 are results: the merge tells of them.
      array=$(sbatch --parsable --job-name=batchproc-shard --output="$logs/shard-%a.log" --requeue \\
        --array=0-\(shards - 1) --dependency="afterok:${first%%;*}" --kill-on-invalid-dep=yes\(words: options) <<'\(end)'
      #!/bin/sh
      status=0
      "$program" \(command) --plan "$plan" --shard auto || status=$?
      case $status in 3|4|20) exit 0 ;; esac
      exit $status
      \(end)
      )

      echo "logs in $logs"
      [ -z "$result" ] || echo "result in $result"
      printf 'plan %s, shards %s, merge ' "${first%%;*}" "${array%%;*}"
      sbatch --parsable --job-name=batchproc-merge --output="$logs/merge.out" --error="$logs/merge.log"\(waits ? " --wait" : "") \\
        --dependency="afterany:${array%%;*}"\(words: options) <<'\(end)'
      #!/bin/sh
      exec "$program" merge "$plan"\(output == nil ? "" : " --output \"$result\"")
      \(end)

      """
  }
}

/// Text of a shell script, in which a path becomes one word; bytes, since names need not be UTF-8.
struct ShellText: ExpressibleByStringInterpolation, StringInterpolationProtocol {
  typealias StringInterpolation = ShellText

  private(set) var bytes: [UInt8] = []

  init(literalCapacity: Int, interpolationCount: Int) {}
  init(stringInterpolation text: ShellText) { self = text }
  init(stringLiteral text: String) { bytes = Array(text.utf8) }

  mutating func appendLiteral(_ text: String) { bytes += text.utf8 }
  mutating func appendInterpolation(_ text: String) { bytes += text.utf8 }
  mutating func appendInterpolation(_ number: Int) { bytes += "\(number)".utf8 }
  mutating func appendInterpolation(_ word: PathBytes) { bytes += ShellWord.bytes(word) }
  /// A space and a word for each.
  mutating func appendInterpolation(words: [PathBytes]) {
    for word in words { bytes += [UInt8(ascii: " ")] + ShellWord.bytes(word) }
  }
}
