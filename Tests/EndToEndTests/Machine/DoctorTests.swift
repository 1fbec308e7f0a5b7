import BatchEngine
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3))) struct DoctorTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// The events of `doctor --json` by name, under a command that sets limits.
  private func facts(_ prefix: String, _ folder: String = ".") throws -> [String: [String: Any]] {
    let run = try t.shell("\(prefix) $BP doctor --json \(folder)")
    try #require(run.status == 0, "\(run.errorText)")
    var facts: [String: [String: Any]] = [:]
    for line in run.text.split(separator: "\n") {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      if let object, let name = object["name"] as? String { facts[name] = object }
    }
    return facts
  }

  private func number(_ facts: [String: [String: Any]], _ name: String) -> Int? {
    facts[name]?["value"] as? Int
  }

  @Test func oneProcessorIsTheLimit() throws {
    let facts = try facts("taskset -c 0")
    #expect(number(facts, "cpu_affinity") == 1)
    #expect(facts["computing_cpu_affinity"]?["binds"] as? Bool == true)
    #expect(number(facts, "concurrency_start") == 1)
  }

  @Test func fewDescriptorsAreTheLimit() throws {
    let facts = try facts("ulimit -n 32;")
    #expect(number(facts, "open_files_soft") == 32)
    #expect(number(facts, "open_files_hard") == 32)
    #expect(facts["waiting_descriptors"]?["binds"] as? Bool == true)
    let most = try #require(number(facts, "concurrency_most"))
    #expect((1...8).contains(most))
    // A run with the same limit respects it.
    try t.shell("mkdir t; for n in $(seq 300); do echo $n >t/$n; done")
    let run = try t.shell("ulimit -n 32; $BP hash t | sha256sum; $BP hash -j 1 t | sha256sum")
    #expect(Set(run.text.split(separator: "\n")).count == 1, "\(run.errorText)")
  }

  @Test func printsItsFactsAndLeavesTheFolderUnchanged() throws {
    try t.file("d/file", "")
    let run = try t.batchproc("doctor", "d")
    #expect(run.status == 0)
    for word in [
      "PROCESSORS", "MEMORY", "OPEN FILES", "DIRECTORY", "DEFAULTS", "binds", "libarchive", "openat2",
    ] {
      #expect(run.text.contains(word), "\(word)")
    }
    #expect(t.names(in: "d") == ["file"])
    #expect(run.errors.isEmpty)
  }

  @Test func aMissingFolderIsAnError() throws {
    let run = try t.batchproc("doctor", "none")
    #expect(run.status == 1)
    #expect(run.text.contains("PROCESSORS"))
    #expect(run.errorText.contains("none"))
  }

  @Test("the other facts are printed when a mount does not respond", .enabled(if: Host.canPreload))
  func silence() throws {
    try t.preload(
      """
      #include <stdarg.h>
      int openat(int folder, const char *path, int flags, ...) {
        va_list rest;
        va_start(rest, flags);
        mode_t mode = va_arg(rest, mode_t);
        va_end(rest);
        while (strcmp(path, "held") == 0) pause();
        int (*next)(int, const char *, int, ...) = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
        return next(folder, path, flags, mode);
      }
      """)
    try t.folder("held")
    func start(_ option: String) throws -> RunningProgram {
      try t.startShell("LD_PRELOAD=$PWD/preload.so $BP doctor \(option) held")
    }
    let programs = try (text: start(""), events: start("--json"))
    let text = programs.text.wait()
    #expect(text.status == 1 && text.text.contains("PROCESSORS") && text.text.contains("does not answer"))
    #expect(text.errorText.contains("batchproc: held: does not answer"), "\(text.errorText)")
    let events = programs.events.wait()
    #expect(events.status == 1 && events.text.contains("\"type\":\"limit\""))
    #expect(events.text.contains("does not answer"))
    #expect(events.text.contains("\"type\":\"error\""), "\(events.text)")
  }

  @Test func showsAndUsesTheNumberSavedForTheDevice() throws {
    let environment = ["XDG_STATE_HOME": String(decoding: t.root.bytes, as: UTF8.self)]
    let id = try #require(DeviceFacts.fileSystemID(of: t.root))
    try t.file("batchproc/devices", "\(id) 7\n")
    let shown = try t.batchproc(["doctor", "."], environment: environment)
    #expect(shown.text.contains("saved for this device by tune"))
    try t.file("x", "x")
    let saved = try t.batchproc(["hash", "--json", "x"], environment: environment)
    #expect(saved.text.contains("\"concurrency\":7"), "\(saved.text)")
    let given = try t.batchproc(["hash", "--json", "-j", "2", "x"], environment: environment)
    #expect(!given.text.contains("\"concurrency\""))
  }
}
