import BatchEngine
import Foundation
import TestSupport
import Testing

/// Runs whose concurrency is changed while they run.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ControlTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let source = Repository.root.appendingPathComponent("Tests")
      .appendingPathComponent("SlowDevice/slow-device.c").path
    try t.copy("slow-device") {
      let compiled = try $0.shell("cc -shared -fPIC -O2 \(source) -o slow.so -ldl -lpthread")
      try #require(compiled.status == 0, "\(compiled.errorText)")
    }
    for number in 0..<300 {
      try t.file(
        PathBytes("t/d\(number % 6)/f\(number)"), String(repeating: "content \(number)\n", count: 1 + number))
    }
    try t.file("t/large", size: 12_000_000)
  }

  /// Runs a command on a slow device while its control file changes repeatedly.
  private func controlled(_ command: String, seed: Int) throws -> Outcome {
    try t.shell(
      """
      RANDOM=\(seed); echo 'concurrency 3' >c
      ( while [ ! -e done ]; do
          case $((RANDOM % 4)) in
            0) echo pause >c.new ;;
            1) echo 'concurrency auto' >c.new ;;
            *) echo "concurrency $((RANDOM % 9 + 1))" >c.new ;;
          esac
          mv c.new c; sleep 0.12
          { cat c; echo resume; } >c.new; mv c.new c; sleep 0.12
        done ) &
      SLOW_DEVICE=2000:8 SLOW_DEVICE_ROOT=$PWD/t LD_PRELOAD=$PWD/slow.so $BP \(command)
      status=$?; touch done; wait; rm done; exit $status
      """)
  }

  @Test(arguments: [1, 2]) func rowsOfHashAreTheSame(seed: Int) throws {
    let expected = try t.batchproc("hash", "-j", "1", "t")
    let run = try controlled("hash --stride 3 --control c t", seed: seed)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.output == expected.output)
  }

  @Test(arguments: ["gz", "zst"]) func outputsOfCompressAreTheSame(format: String) throws {
    let options = "-q --format \(format) --stride 3 --output-dir"
    let one = try t.shell("$BP compress -j 1 \(options) one t")
    #expect(one.status == 0, "\(one.errorText)")
    let run = try controlled("compress --control c \(options) two t", seed: 3)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("diff -r one two && [ $(find two -type f | wc -l) -gt 200 ]").status == 0)
  }

  @Test func archivesAreTheSame() throws {
    #expect(try t.shell("$BP archive -q -j 1 -o one.tar.zst t").status == 0)
    let run = try controlled("archive -q --control c -o two.tar.zst t", seed: 4)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("cmp one.tar.zst two.tar.zst").status == 0)
  }

  @Test func extractedTreesAreTheSame() throws {
    #expect(
      try t.shell("$BP archive -q -j 1 -o a.tar.zst t; rm -rf t/d*; mkdir x; mv a.tar.zst t").status == 0)
    let run = try controlled("extract -q --control c -C x t/a.tar.zst", seed: 5)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("find x -type f | wc -l").text == "301\n")
    #expect(try t.shell("$BP verify -q --against x t/a.tar.zst").status == 0)
  }

  @Test func aPausedRunReportsItAndContinues() throws {
    try t.file("c", "pause\n")
    let program = try t.start(["hash", "-v", "--progress", "plain", "--control", "c", "t/d0"])
    func shows(_ text: String) -> Bool { String(decoding: program.errorsSoFar, as: UTF8.self).contains(text) }
    // The line of the progress, then that of the signal.
    try #require(eventually { shows("files, paused, the control file says so\n") })
    program.signal(SIGUSR1)
    try #require(eventually { shows(" elapsed, paused, the control file says so\n") })
    try t.file("c", "resume\nconcurrency 2\n")
    let run = program.wait()
    #expect(run.status == 0)
    #expect(run.errorText.contains("batchproc: paused, the control file says so"))
    #expect(run.errorText.contains("batchproc: resumed at concurrency 2, the control file says so"))
    #expect(run.text.split(separator: "\n").count == 50)
  }

  @Test func aRateIsChangedDuringTheRun() throws {
    // At this rate the run would take more than an hour.
    let program = try t.start(["hash", "--rate", "1K", "--control", "c", "t/large", "t/d1"])
    try t.file("c", "rate off\n")
    let run = program.wait()
    #expect(run.status == 0)
    #expect(run.output == (try t.batchproc("hash", "t/large", "t/d1")).output)
  }

  @Test func anUnknownLineIsNamed() throws {
    try t.file("c", "concurrency many\n")
    let run = try t.batchproc("hash", "--control", "c", "t/d0")
    #expect(run.status == 0)
    #expect(
      run.errorText.contains(
        "c: line 1 is not one of 'concurrency N', 'concurrency auto', 'rate SIZE', 'rate off', 'pause', 'resume'"
      )
    )
  }
}
