import BatchEngine
import Foundation
import TestSupport
import Testing

/// Malformed archives that crash libarchive, keep it busy without end, or make it allocate without end.
/// `Tests/Malformed` names their sources.
@Suite("--all-formats reads in a separate process", .timeLimit(.minutes(5))) struct ArchiveForeignTests {
  private static let folder = Repository.root.appendingPathComponent("Tests/Malformed").path
  private static let cab = "test_read_format_cab_skip_malformed.cab"
  private static let loop = "test_read_format_iso_rockridge_ce_loop.iso.Z"
  private static let rar = "test_read_format_rar_unbound_staticdata.rar"
  private static let ar = "seq 30000 >one; printf two >two; ar rcS x.a one two"

  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Begins to read the archive that loops. `$p` is the program, and `$c` is its reading process.
  private static let begin = """
    env --default-signal=INT $BP verify -q --all-formats --max-memory 1G --qos utility '\(folder)/\(loop)' & p=$!
    until c=$(pgrep -P $p) && grep -q '^Seccomp:.2' /proc/$c/status; do kill -0 $p || exit; done
    """

  /// The exit codes of list, verify and extract, each for a file and for a stream.
  private func codes(_ name: String, _ options: String) throws -> (text: String, errors: String) {
    let run = try t.shell(
      """
      a='\(Self.folder)/\(name)'; mkdir -p o
      for c in list verify 'extract -C o --force'; do
        $BP $c -q --all-formats \(options) "$a" >rows; echo -n "$? "
        cat "$a" | $BP $c -q --all-formats \(options) - >rows; echo -n "$? "
      done
      """)
    return (run.text, run.errorText)
  }

  // MARK: Malformed archives

  @Test("A malformed cab is reported as damaged", arguments: [1, 2, 7, 32])
  func cab(jobs: Int) throws {
    let (text, errors) = try codes(Self.cab, "-j \(jobs)")
    #expect(text == "0 0 4 4 5 5 ", "\(text) \(errors)")
    #expect(errors.contains("\(Self.cab): damaged: Invalid CFDATA"), "\(errors)")
  }

  @Test("An image that makes the process allocate without end gets no more than --max-memory")
  func loop() throws {
    let (text, errors) = try codes(Self.loop, "--max-memory 16M")
    #expect(text == "1 1 4 4 5 5 ", "\(text) \(errors)")
    let count = errors.split(separator: "\n").count { $0.contains("needs more than 16 MiB of memory") }
    #expect(count == 6, "\(errors)")
    let run = try t.shell(
      """
      for j in 1 2 7 32; do
        $BP verify -q --all-formats --max-memory 16M -j $j '\(Self.folder)/\(Self.loop)' 2>&1; echo $?
      done | sort | uniq -c | wc -l
      """)
    #expect(run.text == "2\n", "\(run.text)\(run.errorText)")
  }

  @Test("An archive that claims a large dictionary gets no more than --max-memory")
  func dictionary() throws {
    let run = try t.shell(
      """
      for a in '\(Self.folder)/\(Self.rar)' '\(Self.folder)/\(Self.loop)'; do
        /usr/bin/time -f %M $BP verify -q --all-formats --max-memory 64M "$a" >rows 2>errors; echo $?; tail -n 1 errors
      done
      """)
    let numbers = run.text.split(separator: "\n").compactMap { Int($0) }
    #expect(numbers.count == 4 && numbers[0] == 4 && numbers[2] == 4, "\(run.text)")
    // In KiB: 64 MiB, and the memory that the process itself needs.
    #expect(numbers.allSatisfy { $0 < 180_000 }, "\(run.text)")
  }

  // MARK: The process

  @Test("A crash of the process is reported as damage of the archive", .enabled(if: Host.canPreload))
  func crash() throws {
    try t.preload(
      """
      #include <signal.h>
      #include <spawn.h>
      #include <sys/socket.h>
      // The process has an empty environment, so the signal comes from the run, when it asks for content.
      static pid_t child;
      int posix_spawn(
          pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
          char *const *arguments, char *const *environment) {
        int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
                    char *const *) = dlsym(RTLD_NEXT, "posix_spawn");
        int failed = real(pid, path, actions, attributes, arguments, environment);
        child = *pid;
        return failed;
      }
      ssize_t send(int file, const void *buffer, size_t count, int flags) {
        ssize_t (*real)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
        if (count == 1 && *(const char *)buffer == 3) kill(child, SIGSEGV);
        return real(file, buffer, count, flags);
      }
      """)
    let run = try t.shell(
      """
      \(Self.ar); mkdir o; export LD_PRELOAD=$PWD/preload.so
      for c in list verify 'extract -C o'; do $BP $c -q --all-formats x.a; echo $?; done
      """)
    #expect(run.text == "one\ntwo\n0\none: DAMAGED\n4\n5\n", "\(run.text)")
    #expect(
      run.errorText == """
        batchproc: x.a: damaged: its reader crashed (signal 11)
        batchproc: one: damaged: its reader crashed (signal 11)

        """, "\(run.errorText)")
  }

  @Test(
    "A run that is stopped ends the process at once, in any state of libarchive",
    arguments: ["INT", "TERM", "KILL"])
  func stopped(signal: String) throws {
    let run = try t.shell(
      """
      \(Self.begin)
      kill -\(signal) $p; wait $p; echo $?; [ \(signal) = KILL ] || [ ! -d /proc/$c ] || echo alive
      while grep -qs '^State:.[^ZX]' /proc/$c/status; do sleep 0.01; done
      """)
    #expect(
      run.text == "\(["INT": 130, "TERM": 143, "KILL": 137][signal] ?? 0)\n", "\(run.text)\(run.errorText)")
  }

  @Test("The process has an empty environment, no new rights, and a filter of system calls")
  func confined() throws {
    let run = try t.shell(
      """
      \(Self.begin)
      wc -c </proc/$c/environ
      sed -n 's/^\\(NoNewPrivs\\|Seccomp\\):.//p' /proc/$c/status
      awk '/data size/ { print ($4 == $5) } /core file/ { print $6 }' /proc/$c/limits
      kill -KILL $p
      """)
    #expect(run.text == "0\n1\n2\n1\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("The process has three descriptors, and the limits, nice value and I/O class of the run")
  func inherited() throws {
    let run = try t.shell(
      """
      \(Self.begin)
      ls /proc/$c/fd | tr '\\n' ' '; cut -d' ' -f19 /proc/$c/stat; ionice -p $c
      awk '/data size/ { print $4 } /core file/ { print $5 }' /proc/$c/limits; kill -KILL $p
      """)
    let memory = (1 << 30) + (96 << 20)
    #expect(run.text == "0 1 2 10\nbest-effort: prio 7\n\(memory)\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("A second signal ends a run that waits for a library", .enabled(if: Host.canPreload))
  func secondSignal() throws {
    // The reader of zip archives calls this function for each member.
    try t.preload("long mktime(void *time) { creat(\"busy\", 0600); for (;;) continue; }")
    try t.shell("echo one >one; $BP archive -q -o x.zip one")
    let program = try t.startShell("LD_PRELOAD=$PWD/preload.so exec $BP verify x.zip")
    try #require(eventually { t.exists("busy") && program.handlesSignals })
    program.signal(SIGINT)
    // A second signal that arrives before the first one was handled is merged with it, so it is sent
    // repeatedly.
    let isEnded = eventually {
      program.signal(SIGINT)
      usleep(10_000)
      return program.hasEnded
    }
    #expect(isEnded)
    #expect(program.wait().ending == .signal(SIGINT))
  }

  // MARK: Whole archives

  @Test("Complete archives are read correctly, from a file and from a stream", arguments: [1, 2, 7, 32])
  func whole(jobs: Int) throws {
    let run = try t.shell(
      """
      mkdir -p t/d; seq 30000 >t/one; printf two >t/d/two; touch -d @99 t/one; ln -s one t/l; ulimit -n 64
      ar rcS x.a t/one t/d/two; bsdtar -cf x.iso --format=iso9660 t
      gzip -k x.iso; truncate -s 1M t/sparse; tar cSf x.tar t; $BP archive -q -o x.zip t
      cp x.zip end.zip; ar rcS zip.a t/one end.zip; mkfifo fifo; set -- -q --all-formats -j \(jobs)
      for a in x.a x.iso x.iso.gz x.tar x.zip zip.a; do for in in $a -; do
        rm -rf o; mkdir o; $BP list "$@" $in <$a >./$in.list || echo list $a $in; cmp $a.list ./$in.list
        $BP extract "$@" -C o $in <$a || echo extract $a $in; cmp t/one $(find o -name one); [ -s $a.list ] || echo none
        [ $a != x.tar ] || [ $(stat -c %b o/t/sparse) = 0 ] || echo holes $in
      done; done 2>errors
      cat x.iso >fifo & $BP verify "$@" fifo || echo fifo
      """)
    // A zip that is read as a stream does not mark which members are links.
    #expect(run.text == "list x.zip -\nextract x.zip -\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "An archive of a usual format starts no process and is read by its index", .enabled(if: Host.canTrace))
  func usual() throws {
    let run = try t.shell(
      """
      \(Self.ar); tar cf x.tar one two; $BP archive -q -o x.tar.zst one two; $BP archive -q -o x.zip one two; gzip -k x.tar
      for a in x.tar x.tar.gz x.zip x.tar.zst x.a; do for c in list verify; do
        strace -qq -f --seccomp-bpf -e trace=execve -o trace $BP $c -q --all-formats $a >rows || echo $a; grep -c read-archive trace
      done; done | tr '\\n' ' '
      """)
    #expect(run.text == "0 0 0 0 0 0 0 0 1 1 ", "\(run.text)\(run.errorText)")
  }

  @Test("Few descriptors are sufficient", arguments: [1, 2, 7, 32])
  func descriptors(jobs: Int) throws {
    let run = try t.shell(
      """
      \(Self.ar); mkdir o; ulimit -n 24
      for c in list verify 'extract -C o'; do $BP $c -q --all-formats -j \(jobs) x.a >rows; echo $?; done
      cmp one o/one
      """)
    #expect(run.text == "0\n0\n0\n", "\(run.text)\(run.errorText)")
  }
}
