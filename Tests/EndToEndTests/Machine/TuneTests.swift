import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(5))) struct TuneTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    for number in 0..<200 {
      try t.file(PathBytes("t/d\(number % 5)/f\(number)"), String(repeating: "x\(number) ", count: 200))
    }
  }

  private var state: [String: String] {
    ["XDG_STATE_HOME": String(decoding: t.root.bytes, as: UTF8.self) + "/state"]
  }

  @Test func endsWithACommandLine() throws {
    let before = try t.shell("find t -printf '%p %s %T@\\n' | sort").text
    // All at the same time.
    let programs = try ["hash", "compress", "archive"].map { job in
      (job, try t.start(["tune", "--job", PathBytes(job), "--seconds", "1", "--max", "4", "t"]))
    }
    for (job, program) in programs {
      let run = program.wait()
      #expect(run.status == 0, "\(run.errorText)")
      let line = try #require(run.text.split(separator: "\n").last)
      #expect(line.hasPrefix("batchproc \(job) -j "))
      #expect(line.hasSuffix(" t"))
      #expect(run.text.contains("-j      MiB/s    files/s  spread"))
      #expect(run.text.contains("warm") || run.text.contains("cold"))
      #expect(run.errorText.contains("measured "))
      // The command line works.
      if job == "hash" { #expect(try t.shell("\(line.replacing("batchproc ", with: "$BP "))").status == 0) }
    }
    #expect(try t.shell("find t -printf '%p %s %T@\\n' | sort").text == before)
  }

  @Test func savesTheNumberForTheDevice() throws {
    // With only one number allowed, the best one does not depend on the load of the machine.
    let run = try t.batchproc(
      ["tune", "--seconds", "1", "--max", "1", "--save", "--plot", "curve.svg", "t"], environment: state)
    #expect(run.status == 0, "\(run.errorText)")
    let id = try #require(DeviceFacts.fileSystemID(of: t.root.appending("t".utf8)))
    let saved = try t.shell("cat state/batchproc/devices; stat -c %a state/batchproc").text
    #expect(saved.contains("\n\(id) "), "\(saved)")
    #expect(saved.hasSuffix("700\n"))
    #expect(
      try t.batchproc(["doctor", "t"], environment: state).text.contains("saved for this device by tune"))
    #expect(try t.shell("head -c 4 curve.svg").text == "<svg")
  }

  @Test("the user database is asked for a home only when no variable names one", .enabled(if: Host.canTrace))
  func home() throws {
    let run = try t.shell(
      """
      unset XDG_STATE_HOME
      look() { strace -qq -f -e trace=openat,connect -o trace env "$@" $BP hash -q t/d0/f0 >/dev/null; grep -qE 'passwd|nscd' trace; echo $?; }
      look HOME=$PWD; look -u HOME
      """)
    // The state of root has a place of its own.
    #expect(run.text == (Host.isRoot ? "1\n1\n" : "1\n0\n"), "\(run.text)\(run.errorText)")
  }

  @Test func recommendsAutoForATinyTree() throws {
    for number in 0..<5 { try t.file(PathBytes("tiny/f\(number)"), "\(number)\n") }
    let run = try t.batchproc(["tune", "--seconds", "1", "--save", "tiny"], environment: state)
    #expect(run.status == 0, "\(run.errorText)")
    let lines = run.text.split(separator: "\n")
    #expect(lines.last == "batchproc hash -j auto tiny")
    #expect(lines.dropLast().last?.hasSuffix("auto finds the number in each run.") ?? false, "\(run.text)")
    #expect(run.errorText.contains("nothing was saved"))
    #expect(!t.exists("state"))
    let json = try t.batchproc(["tune", "--seconds", "1", "--json", "tiny"]).text
    let line = try #require(json.split(separator: "\n").first { $0.contains("\"recommendation\"") })
    #expect(line.contains("\"reason\":\"") && !line.contains("\"concurrency\""))
  }

  @Test func printsEventsForPrograms() throws {
    let run = try t.batchproc(["tune", "--json", "--seconds", "1", "--max", "2", "t"])
    #expect(run.status == 0)
    var types: [String] = []
    for line in run.text.split(separator: "\n") {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      types.append(object?["type"] as? String ?? "")
    }
    #expect(Set(types) == ["point", "recommendation", "summary"])
    #expect(types.last == "summary")
  }

  @Test func refusesJobsThatCannotBeMeasured() throws {
    #expect(try t.batchproc("tune", "none").status == 1)
    try t.shell("mkdir empty")
    #expect(try t.batchproc("tune", "empty").status == 1)
    #expect(try t.batchproc("tune", "--job", "extract", "t").status == 64)
    #expect(try t.batchproc("tune").status == 64)
  }

  @Test func aSignalEndsIt() throws {
    let program = try t.start(["tune", "--seconds", "60", "t"])
    try #require(eventually { program.handlesSignals })
    program.signal(SIGINT)
    #expect(program.wait().ending == .signal(SIGINT))
    #expect(t.names() == ["t"])
  }
}
