import BatchEngine
import TestSupport
import Testing

/// Divided runs that write files beside their sources or into another tree.
extension ClusterTests {
  @Test(
    "give the compressed tree of one run",
    arguments: ["", "--remove-source", "--output-dir ../out --copy-others", "--format zst -9"])
  func compression(options: String) throws {
    let run = try t.shell(
      """
      \(Self.functions)
      \(Steps.functions)
      mkdir a b c
      (cd a && tree && truncate -s 3M t/large && cp -a t ../t)
      mv a/t b/t
      mv t c/t
      (cd b && "$BP" compress -q --no-fsync \(options) t)
      mv out outb 2>/dev/null
      (cd c && "$BP" plan -q --shards 4 --out ../p -- compress --stride 3 \(options) t)
      for i in 3 1 0 2; do ends "shard $i" "$BP" compress -q --no-fsync --plan p --shard $i; done
      ends merge "$BP" merge -o receipts -q p
      mv out outc 2>/dev/null
      ends "the same trees" same b c
      ends "the same outputs elsewhere" same outb outc 2>/dev/null
      ends "links are counted" grep -q linked receipts
      ends "files are counted" test -s receipts
      """)
    run.expectSteps([
      "shard 3": "0", "shard 1": "0", "shard 0": "0", "shard 2": "0", "merge": "0", "the same trees": "0",
      "the same outputs elsewhere": "0", "links are counted": "0", "files are counted": "0",
    ])
  }

  /// A tree of compressed files, some of which are damaged, have no checksum or have the output of another
  /// file.
  private static let compressed = #"""
    packed() {
      mkdir -p t/a/-in; for n in 1 2 3 4 5 6; do seq $((n * 300)) | gzip -n >t/a/$n.gz; done; ln t/a/[1-6].gz t/a/-in
      seq 9 >t/a/text; seq 5 | zstd -q >t/a/4.zst; seq 7 | xz >t/a/q.xz; seq 70 | zstd -q --no-check >t/a/bare.zst
      for d in 'b c' $'new\nline' $'\377'; do cp -a t/a "t/$d"; done
      seq 90000 | gzip -n >t/cut.gz; truncate -s -9 t/cut.gz; seq 3 >t/a/5; mkfifo t/pipe; touch -d @1700000000 t/*/*.*
    }
    """#

  @Test("give the test results, messages and status of one run")
  func compressedFiles() throws {
    let run = try t.shell(
      """
      \(Self.functions)
      \(Self.compressed)
      packed; "$BP" test -q t 2>errors; echo $?
      for n in 1 4 7; do rm -rf p rows; "$BP" plan -q --no-fsync --shards $n --out p -- test --stride 2 t
        for i in $(seq $((n - 1)) -1 0); do "$BP" test -q --no-fsync --plan p --shard $i 2>/dev/null; done
        "$BP" merge -q -o rows p 2>more; echo $?; cmp errors more; shards; wc -l <rows; done
      grep -c '"outcome":"truncated"' rows; grep -c 'no checksum' rows; "$BP" merge p 2>&1 | grep -c '1 damaged, 4 without checksum'
      "$BP" test --plan p --shard 0 --force 2>&1 | grep -c 'cut.gz: '
      """)
    #expect(
      run.text.split(separator: "\n").joined(separator: " ")
        == "4 4 1 61 4 4 61 4 7 61 1 4 1 1", "\(run.text)\(run.errorText)")
  }

  @Test(
    "give the decompressed tree of one run",
    arguments: ["", "--remove-source", "--output-dir ../out", "--force"])
  func decompression(options: String) throws {
    let run = try t.shell(
      """
      \(Self.functions)
      \(Self.compressed)
      \(Steps.functions)
      packed
      mkdir b c
      cp -a t b
      mv t c
      cd b
      ends "one run" "$BP" decompress -q --no-fsync \(options) t 2>../errors
      cd ..
      mv out outb 2>/dev/null
      (cd c && "$BP" plan -q --shards 4 --out ../p -- decompress --stride 3 \(options) t)
      for i in 3 1 0 2; do "$BP" decompress -q --no-fsync --plan p --shard $i 2>/dev/null; done
      ends merge "$BP" merge -o rows -q p 2>more
      mv out outc 2>/dev/null
      ends "the same trees" same b c
      ends "the same outputs elsewhere" same outb outc 2>/dev/null
      ends "the same messages" diff <(sort errors) <(sort more)
      counts "files with one output" 'neither is written' <more
      counts "links" linked <rows
      shards | says shards
      """)
    run.expectSteps([
      "one run": "3", "merge": "3", "the same trees": "0", "the same outputs elsewhere": "0",
      "the same messages": "0", "files with one output": "8",
      // A file that is kept does not count as a first name.
      "links": options.isEmpty || options == "--remove-source" ? "19" : "20", "shards": "4",
    ])
  }

  @Test(
    "lose nothing when tasks are killed while they remove sources", arguments: ["compress", "decompress"])
  func kills(command: String) throws {
    let turns = Campaign.isFull ? 50 : 3
    // The times of folders differ, since they depend on when entries were made and removed; they are not
    // compared. If a task is killed after it removed the source of one name of a file and before it linked
    // another name, the other name becomes a file of its own; so link counts are not compared.
    let run = try t.shell(
      """
      mkdir t
      for d in $(seq 6); do
        mkdir t/$d
        for n in $(seq 6); do
          seq $((d * n * 900)) >t/$d/$n
          ln t/$d/$n t/$d/$n.also
        done
      done
      if [ \(command) = decompress ]; then "$BP" compress -q --no-fsync --remove-source t; fi
      sums() {
        rm -rf plain
        cp -a $1 plain
        (
          cd plain
          find . -type f ! -name '*.gz' ! -name '.batchproc-*' -exec sha256sum {} +
          find . -name '*.gz' -exec gunzip -f {} +
          find . -type f ! -name '.batchproc-*' -exec sha256sum {} +
        ) >sums
        sort -u sums
      }
      look() { (cd $1 && find . -type f -printf '%P %s %m %T@\\n' | sort); }
      cp -a t one; (cd one && "$BP" \(command) -q --no-fsync --remove-source .); sums t >content; look one >tree
      for turn in $(seq \(turns)); do
        rm -rf p many; cp -a t many
        (cd many && "$BP" plan -q --no-fsync --shards 4 --out ../p -- \(command) --stride 3 --remove-source .)
        for shard in 0 1 2 3; do
          "$BP" \(command) -q --no-fsync --plan p --shard $shard >/dev/null 2>&1 & task=$!
          sleep 0.0$(((turn * 23 + shard * 13) % 60 + 10)); kill -9 $task 2>/dev/null && wait $task 2>/dev/null; [ $? = 0 ] || echo killed >>kills
        done
        sums many | cmp - content || echo "lost in turn $turn"
        for shard in 3 1 0 2; do "$BP" \(command) -q --no-fsync --plan p --shard $shard >/dev/null 2>>errors; echo $?; done
        "$BP" merge -q p 2>>errors; echo $?
        look many | cmp - tree; sums many | cmp - content; find many -name '.batchproc*'
      done | sort | uniq -c
      wc -l <kills
      """)
    let lines = run.text.split(separator: "\n").map { $0.trimmingPrefix(while: \.isWhitespace) }
    #expect(
      lines.count == 2 && lines.first == "\(turns * 5) 0",
      "\(run.text)\(run.errorText)\(t.text("errors") ?? "")")
    #expect(lines.last.flatMap { Int($0) } ?? 0 > 0, "no task was killed")
  }

  @Test(
    "process a further name whose first name was removed after the plan",
    arguments: ["compress", "decompress"])
  func firstNameGone(command: String) throws {
    let run = try t.shell(
      """
      mkdir t; seq 5000 >t/a; if [ \(command) = decompress ]; then gzip t/a; fi; cd t; f=$(ls); for n in b c; do ln $f $n${f#a}; done; cd ..
      "$BP" plan -q --shards 1 --out p -- \(command) --remove-source t; rm t/$(ls t | head -1)
      "$BP" \(command) -q --plan p --shard 0; echo $?; find t -type f -printf '%P %n\n' | sort
      """)
    let suffix = command == "compress" ? ".gz" : ""
    #expect(run.text == "0\nb\(suffix) 2\nc\(suffix) 2\n", "\(run.text)\(run.errorText)")
  }
}
