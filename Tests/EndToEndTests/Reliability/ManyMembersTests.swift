import BatchEngine
import TestSupport
import Testing

/// A file of very many small members, streams or records is read in large pieces, whatever wraps them. An attacker chooses their number.
@Suite(.enabled(if: Host.canTrace && Host.hasPython), .timeLimit(.minutes(5)))
struct ManyMembersTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes the file `f` of many parts, and prints how many calls a command makes to open and read files beyond
  /// one for each 8 KiB.
  private func excess(of command: String, in script: String, parts: Int) throws -> Outcome {
    try t.shell(
      """
      cat >make.py <<'EOF'
      import bz2, gzip, io, lzma, subprocess, sys, tarfile
      def tool(*words, given=b''):
          return subprocess.run(words, input=given, capture_output=True, check=True).stdout
      n = int(sys.argv[1])
      \(script)
      open('f', 'wb').write(data)
      EOF
      python3 make.py \(parts) && strace -qq -f --seccomp-bpf -c -e trace=read,pread64,openat -o counts \\
        timeout 100 "$BP" \(command) >/dev/null 2>errors
      echo status $?
      calls=$(awk '$NF ~ /^(read|pread64|openat)$/ { n += $4 } END { print n + 0 }' counts)
      [ $calls -le $((2000 + $(stat -c %s f) / 8192)) ] && echo few || echo $calls
      """, seconds: 250)
  }

  @Test(
    "in compressed files",
    arguments: [
      "data = gzip.compress(b'', 6) * n", "data = bz2.compress(b'') * n", "data = lzma.compress(b'') * n",
      "data = tool('lzip', '-c') * n", "data = tool('zstd', '-qc') * n", "data = tool('lz4', '-qc') * n",
      "data = (b'\\x50\\x2a\\x4d\\x18' + bytes(4)) * n + tool('zstd', '-qc')",
    ], Campaign.isFull ? [300_000, 600_000] : [30_000, 300_000])
  func compressed(script: String, parts: Int) throws {
    let run = try excess(of: "test -q f", in: script, parts: parts)
    #expect(
      run.text == "status 0\nfew\n", "\(run.text)\(run.errorText)\(t.text("errors")?.prefix(500) ?? "")")
  }

  @Test(
    "in tar archives",
    arguments: [
      "head = tarfile.TarInfo('x').tobuf(tarfile.USTAR_FORMAT); data = head * n + bytes(1024)",
      """
      data = tarfile.TarInfo('x')
      data.pax_headers = {'comment' + str(i): 'v' for i in range(n)}
      data = data.tobuf(tarfile.PAX_FORMAT) + bytes(1024)
      """,
    ], [10_000, 20_000])
  func archived(script: String, parts: Int) throws {
    let run = try excess(of: "list -q f", in: script, parts: parts)
    #expect(run.text.hasSuffix("few\n") && !run.text.hasPrefix("status 124"), "\(run.text)\(run.errorText)")
  }
}
