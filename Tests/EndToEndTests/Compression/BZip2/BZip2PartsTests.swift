import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Large .bz2 files, which all lanes decode, give what one lane gives.
@Suite("Large .bz2 files", .timeLimit(.minutes(10))) struct BZip2PartsTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Commands that print a compressed form of `plain`.
  private static let forms = [
    "bzip2 -1c plain", largeBlocks, "bzip2 -3c plain; head -c 300K plain | bzip2 -1c; : | bzip2",
    "split -b 400000 --filter 'bzip2 -c' plain", "lbzip2 -n2 -1c plain",
    "python3 -c 'import bz2, sys; sys.stdout.buffer.write(bz2.compress(open(\"plain\", \"rb\").read(), 2))'",
  ]

  private static let largeBlocks = "bzip2 -9c plain"

  /// The noise at the beginning of `plain`: more than a range of 1 MiB, so that another range follows. Of blocks of
  /// 900 kB, only the third one begins in that range.
  private static func noise(_ form: String) -> String { form == largeBlocks ? "1500K" : "1120K" }

  /// The forms that are tested with each kind of damage; the others with two kinds.
  private static let damaged = Campaign.isFull ? [forms[0], forms[2]] : [forms[0]]

  /// Prints the status, the digest of the content and the messages of a way to read x.bz2, at one concurrency.
  private static let read = """
    cat_() { $BP cat -q -j $1 x.bz2 2>e | sha256sum; echo "${PIPESTATUS[0]}"; cat e; }
    others() { $BP test -j $1 -q x.bz2 2>&1; echo $?
    rm -rf o; mkdir o; $BP decompress -q -j $1 --output-dir o x.bz2 2>&1; echo $?; cat o/* 2>/dev/null | sha256sum; }
    # same WAY JOBS...: compares what a way prints with the file of its name.
    same() {
      local way=$1 j; shift
      for j; do $way $j >got; cmp $way got || { echo "$damage: $way at $j"; diff $way got; }; done
    }

    """

  @Test("are read, and damage is reported as by one lane", arguments: forms)
  func same(form: String) throws {
    // Damage in all forms is reported by `cat`, and in some of them by the other commands too, which decode files in the same way.
    let isReadByAll = Campaign.isFull || Self.damaged.contains(form)
    let run = try t.shell(
      """
      { head -c \(Self.noise(form)) /dev/urandom; seq 60000; head -c 2M /dev/zero; } >plain
      { \(form); } >good; stock=$(bzip2 -dc good | sha256sum)
      \(Self.read)size=$(stat -c %s good)
      for damage in none flip2\(Self.damaged.contains(form) ? " cut cut2 flip flip3 end junk" : ""); do
        cp good x.bz2
        case $damage in
          cut) truncate -s $((size / 2)) x.bz2;; cut2) truncate -s $((size - 3)) x.bz2;;
          flip) printf '\\125\\252' | dd of=x.bz2 bs=1 seek=$((size / 3)) conv=notrunc status=none;;
          flip2) printf '\\125\\252' | dd of=x.bz2 bs=1 seek=$((size - 100000)) conv=notrunc status=none;;
          flip3) printf '\\125' | dd of=x.bz2 bs=1 seek=2000 conv=notrunc status=none;;
          end) printf '\\125\\252' | dd of=x.bz2 bs=1 seek=$((size - 5)) conv=notrunc status=none;;
          junk) echo junk >>x.bz2;;
        esac
        if [ $damage = none ]; then
          printf '%s\\n0\\n' "$stock" >cat_; same cat_ 1 2 7 32
          printf '0\\n0\\n%s\\n' "$stock" >others; same others \(isReadByAll ? "2 7" : "7")
        else
          cat_ 1 >cat_; same cat_ 2 7 32
          if \(isReadByAll); then others 1 >others; same others 7; fi
        fi
      done
      """)
    #expect(run.text.isEmpty && run.errorText.isEmpty, "\(form): \(run.text)\(run.errorText)")
  }
}
