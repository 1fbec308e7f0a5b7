import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Bytes after the end of compressed data, compared with the stock tools.
@Suite(.timeLimit(.minutes(5))) struct BehindEndTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir w; seq 20 >plain; gzip -nk plain; mv plain.gz member")
  }

  /// Makes `w/N.gz` of a member and the N-th tail; prints where the expected and the actual statuses differ, and N.
  private static let judge = #"""
    member=$(stat -c %s member); n=0
    tail() { n=$((n + 1)); cat member - >w/$(printf %03d $n).gz; }
    for cut in 1 2 3 4 9 10 11 15 $((member - 9)) $((member - 8)) $((member - 4)) $((member - 1)); do
      tail < <(head -c $cut member)
    done
    for text in '' A AB '\x1f\x00' '\x1fA' '\x8b' '\x1f\x8b\x07' '\x1f\x8b\x08\xff' '\0' '\0\0\0\0' '\0A' '\0\x1f' \
      '\0\x1f\x8b\x08' 'PK\x03\x04'; do
      tail < <(printf "$text")
    done
    tail < <(head -c 600 /dev/zero); tail < <(head -c 600 /dev/zero; cat member); tail <member
    declare -A want
    mkdir stock
    for file in w/*.gz; do
      gzip -dc $file >stock/${file#w/} 2>/dev/null
      case $? in
        0) want[$file]="0 0 0 0 same";; 1) want[$file]="3 3 4 1 none";; 2) want[$file]="3 3 4 1 same";;
      esac
    done
    for j in 1 2 7 32; do
      for file in w/*.gz; do
        $BP decompress -j $j --force -q $file 2>errors; ours=$?
        $BP decompress -j $j -q - <$file >piped 2>/dev/null; stream=$?
        $BP test -j $j -q $file 2>/dev/null; test=$?
        mapfile -t lines <errors
        made=none
        if [ -e ${file%.gz} ]; then made=other; cmp -s ${file%.gz} stock/${file#w/} && made=same; fi
        got="$ours $stream $test ${#lines[@]} $made"
        [ "${want[$file]}" = "$got" ] || echo "$file -j $j: wanted ${want[$file]}, got $got"
      done
      rm -f w/[0-9][0-9][0-9]
    done
    echo $n
    """#

  @Test("bytes after gzip members are judged as by gzip -d, at every concurrency")
  func gzip() throws {
    let run = try t.shell(Self.judge)
    #expect(run.text == "29\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "bytes after other formats are refused or named as by the stock tool",
    arguments: [
      ("zst", "zstd -q"), ("xz", "xz"), ("lz4", "lz4 -q"), ("bz2", "bzip2"), ("lz", "lzip"),
      ("lzma", "xz --format=lzma"),
    ])
  func others(format: String, tool: String) throws {
    let run = try t.shell(
      """
      \(tool) -c plain >member; head -c 1 member >cut1; head -c 5 member >cut5; head -c -1 member >cut
      printf A >one; printf AB >odd; head -c 4 /dev/zero >zeros; cp member more
      for tail in cut1 cut5 cut one odd zeros more; do
        cat member $tail >w/x.\(format); \(tool) -dc <w/x.\(format) >stock 2>/dev/null; expected=$?
        rm -f w/x; $BP decompress -q w/x.\(format) 2>errors; ours=$?; $BP test -q w/x.\(format) 2>/dev/null
        echo "$tail $((expected > 0)) $ours $? $(wc -l <errors) $([ -e w/x ] && cmp -s w/x stock && echo same)"
      done
      """)
    let garbage = ["bz2", "lz"].contains(format) ? "0 0 4 1 same" : "1 3 4 1 "
    let rows = [
      "cut1 1 3 4 1 ", "cut5 1 3 4 1 ", "cut 1 3 4 1 ", "one \(garbage)", "odd \(garbage)",
      format == "xz" ? "zeros 0 0 0 0 same" : "zeros \(garbage)",
      format == "lzma" ? "more 1 3 4 1 " : "more 0 0 0 0 same",
    ]
    #expect(run.text == rows.joined(separator: "\n") + "\n", "\(run.errorText)")
  }

  @Test(
    "bytes after files that several lanes decode are judged alike at every concurrency",
    arguments: ["zst", "xz"])
  func parts(format: String) throws {
    let run = try t.shell(
      """
      # Files of 8 MiB are decoded in parts, each with 1 MiB of content at least.
      head -c 8400K /dev/urandom >plain; head -c 1200K /dev/urandom >second
      $BP compress -q -l \(format == "xz" ? 0 : 1) --format \(format) --compress-all plain second
      mv second.\(format) more; head -c -1 more >cut; printf AB >odd
      for tail in cut odd more; do
        cat plain.\(format) $tail >w/x.\(format)
        for j in 1 2 7 32; do
          rm -f w/x; $BP decompress -q -j $j w/x.\(format) 2>errors; ours=$?; $BP test -q -j $j w/x.\(format) 2>/dev/null
          echo "$tail $ours $? $(wc -l <errors) $([ -e w/x ] && cmp -s w/x <(cat plain second) && echo same)"
        done | uniq
      done
      """, seconds: 240)
    #expect(run.text == "cut 3 4 1 \nodd 3 4 1 \nmore 0 0 0 same\n", "\(run.errorText)")
  }

  @Test("a warning about such bytes is printed with -q, and is an event")
  func quiet() throws {
    let run = try t.shell("cat <(bzip2 -c plain) <(echo garbage) >w/x.bz2; $BP decompress -q w; echo $?")
    #expect(run.text == "0\n")
    #expect(
      run.errorText
        == "batchproc: warning: w/x.bz2: garbage after the end of the compressed data, at byte 62\n")
    let event = try t.shell("$BP decompress --json --force w")
    #expect(event.text.contains(#""event":"unreadable","severity":"warning""#), "\(event.text)")
  }

  @Test(
    "bytes that only fill the last record of a tar are a warning, as for tar; members among them, and bytes after it, are damage",
    arguments: ["cat", "gzip", "zstd -q"])
  func lastRecord(pack: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      tar -cf old.tar plain
      tar -cf other.tar member
      for n in old member after full; do cp old.tar $n.tar; done
      printf 'old bytes' | dd of=old.tar bs=1 seek=3000 conv=notrunc status=none
      dd if=other.tar of=member.tar bs=512 count=2 seek=8 conv=notrunc status=none
      printf 'old bytes' >>after.tar
      tar -b 3 -cf full.tar plain
      printf 'old bytes' >>full.tar
      for n in old member after full; do
        \(pack) <$n.tar >x
        for command in list "extract --force -C o" verify; do ends "$n ${command%% *}" $BP $command -q x >/dev/null; done
        cat x | ends "$n pipe" $BP extract -q --force -C o -
      done
      """)
    run.expectSteps([
      "old list": "0", "old extract": "0", "old verify": "0", "old pipe": "0",
      "member list": "5", "member extract": "5", "member verify": "4", "member pipe": "5",
      "after list": "5", "after extract": "5", "after verify": "4", "after pipe": "5",
      "full list": "5", "full extract": "5", "full verify": "4", "full pipe": "5",
    ])
    #expect(run.errorText.contains("warning: x: the rest of its last record has other bytes"))
  }

  @Test("a record that ends with the bytes of the record before it, as Ant leaves them, is whole")
  func repeatedRecord() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      for n in 1 2 3 4 5 6 7 8 9; do seq $n | tee f$n >g$n; done
      tar -cf x.tar f[1-9] g[1-9]
      python3 - <<'END'
      data = bytearray(open('x.tar', 'rb').read())
      end = 2 * 9 * 1024 + 1024
      assert len(data) == 20480 and not any(data[end - 1024:])
      data[end:] = data[end - 10240:10240]
      open('x.tar', 'wb').write(data)
      data[end + 600] ^= 1
      open('changed.tar', 'wb').write(data)
      END
      for n in x changed; do ends "list $n" $BP list -q $n.tar >/dev/null; done
      """)
    run.expectSteps(["list x": "0", "list changed": "5"])
  }

  @Test("gzip data with other bytes after it is not called complete by any command")
  func gzipArchive() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      { tar -czf - plain; head -c 512 /dev/zero; tar -czf - member; } >x
      for command in list "extract --force -C o" verify; do ends "${command%% *}" $BP $command -q x >/dev/null; done
      ls o | says files
      """)
    run.expectSteps(["list": "5", "extract": "5", "verify": "4", "files": "plain"])
  }
}
