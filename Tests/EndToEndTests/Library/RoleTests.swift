import BatchEngine
@testable import BatchOutputs
import Foundation
import TestSupport
import Testing

/// Code that a worker, a source or a collector may not use does not compile.
///
/// The compiler checks each case twice against the modules of this test run. The two texts differ in one
/// line, which usually names the context of a role: one that may make the call, and one that may not.
@Suite struct RoleTests {
  private struct Case {
    let name: String
    let allowed: String
    let refused: String
    let end: String
    /// A part of the error message for the refused line.
    let error: String

    init(
      _ name: String, _ body: String, with parameters: String = "", allowed: String, refused: String,
      error: String
    ) {
      self.name = name
      self.allowed = "func part(_ context: \(allowed)\(parameters)) throws(BatchError) {"
      self.refused = "func part(_ context: \(refused)\(parameters)) throws(BatchError) {"
      end = "\(body)\n}"
      self.error = error
    }

    init(_ name: String, allowed: String, refused: String, error: String) {
      self.name = name
      self.allowed = allowed
      self.refused = refused
      end = ""
      self.error = error
    }
  }

  private static let (worker, collector, source) = ("WorkerContext", "CollectorContext", "SourceContext")
  private static let mayNotCommit = "has no member 'commits'"
  private static let mayNotRead = "has no member 'reading'"

  private static let cases = [
    Case(
      "a worker commits the outputs of the run", "outputs.commits(by: context.commits).flush()",
      with: ", outputs: OutputStage", allowed: collector, refused: worker, error: mayNotCommit),
    Case(
      "a worker makes the stage of outputs", "_ = OutputStage(options, in: context)",
      with: ", options: OutputOptions", allowed: collector, refused: worker,
      error: "cannot convert value of type 'WorkerContext'"),
    Case(
      "a worker gives an output its name", "try file.publish(by: context.commits)",
      with: ", file: AtomicFile",
      allowed: collector, refused: worker, error: mayNotCommit),
    Case(
      "a worker opens an output under its final name",
      "_ = try OutputFile(path, isReplacing: true, isSynced: true, in: context)", with: ", path: PathBytes",
      allowed: collector, refused: worker, error: "no exact matches in call to initializer"),
    Case(
      "a worker removes a source",
      "try calls.remove(file, seen: file.status, in: folder, by: context.commits)",
      with: ", calls: LinuxCommitCalls, file: FileRecord, folder: OpenFolder", allowed: collector,
      refused: worker, error: mayNotCommit),
    Case(
      "a worker removes what was extracted", "lane.remove(file, by: context.commits)",
      with: ", lane: MemberWriter, file: MadeFile", allowed: collector, refused: worker, error: mayNotCommit
    ),
    Case(
      "a worker links an output", "_ = try linker.link(name, to: output, by: context.commits)",
      with: ", linker: OutputLinker, name: HardLinkItem, output: FileIdentity", allowed: collector,
      refused: worker, error: mayNotCommit),
    Case(
      "a worker links a file that has no name", "_ = try file.link(as: name, by: context.commits)",
      with: ", file: inout TemporaryFile, name: PathBytes", allowed: collector, refused: worker,
      error: mayNotCommit),
    Case(
      "a worker removes a name", "folder.remove(name, by: context.commits)",
      with: ", folder: OpenFolder, name: PathBytes", allowed: collector, refused: worker, error: mayNotCommit),
    Case(
      "a worker ends the run", "context.end()", allowed: collector, refused: worker,
      error: "has no member 'end'"),
    Case(
      "a source gives an output its name", "try file.publish(by: context.commits)",
      with: ", file: AtomicFile",
      allowed: collector, refused: source, error: mayNotCommit),
    Case(
      "a collector reads a file", "_ = try context.read(file) {} consume: { _ in }",
      with: ", file: FileRecord",
      allowed: worker, refused: collector, error: "has no member 'read'"),
    Case(
      "a collector makes a reader", "_ = FileReader(calls: context.calls, by: context.reading)",
      allowed: worker, refused: collector, error: mayNotRead),
    Case(
      "a collector decodes", "_ = try CompressionFormat.zst.makeDecoder(by: context.reading)",
      allowed: worker, refused: collector, error: mayNotRead),
    Case(
      "a source makes a reader", "_ = FileReader(calls: context.calls, by: context.reading)",
      allowed: worker, refused: source, error: mayNotRead),
    Case(
      "a source decodes", "_ = try CompressionFormat.zst.makeDecoder(by: context.reading)",
      allowed: worker, refused: source, error: mayNotRead),
    Case(
      "a source reads the members of an archive",
      "_ = try OpenArchive(file, checks: false, memory: 0, by: context.reading)", with: ", file: ArchiveFile",
      allowed: worker, refused: source, error: mayNotRead),
    Case(
      "a reader gives an output its name", "try file.publish(by: context.commits)",
      with: ", file: AtomicFile",
      allowed: collector, refused: "ExtractReader.Context", error: mayNotCommit),
    Case(
      "a job makes the right to commit", allowed: "let right: CommitRight? = nil",
      refused: "let right: CommitRight? = CommitRight()", error: "inaccessible due to 'internal'"),
    Case(
      "a job makes the right to read", allowed: "let right: ReadingRight? = nil",
      refused: "let right: ReadingRight? = ReadingRight()", error: "inaccessible due to 'internal'"),
    Case(
      "code asks which command runs",
      allowed: "func part(_ command: CommandSpec) -> Bool { command.runsProfiles }",
      refused: "func part(_ command: CommandSpec) -> Bool { command.id == .backup }",
      error: "inaccessible due to 'fileprivate'"),
  ]

  /// Checks texts, each as a separate file, in one run of the compiler.
  ///
  /// - Returns: the errors of each text.
  private func errors(of texts: [String]) throws -> [[String]] {
    let t = try TreeFixture()
    for (index, text) in texts.enumerated() {
      // Functions and constants get private names, so that the files do not conflict.
      try t.file(
        PathBytes("\(index).swift"),
        """
        @testable import BatchCore
        import BatchEngine
        @testable import BatchOutputs
        @testable import batchproc

        private \(text)

        """)
    }
    let run = try t.typeCheck("*.swift", isInside: true)
    var found = [[String]](repeating: [], count: texts.count)
    for line in run.errorText.split(separator: "\n") {
      guard let match = line.firstMatch(of: #/(\d+)\.swift:\d+:\d+: error: /#) else { continue }
      found[try #require(Int(match.output.1))].append(String(line))
    }
    #expect((run.status == 0) == found.allSatisfy(\.isEmpty), "\(run.errorText)")
    return found
  }

  @Test("a forbidden call of a role does not compile, and compiles with the context of another role")
  func roles() throws {
    let found = try errors(
      of: Self.cases.flatMap { ["\($0.allowed)\n\($0.end)", "\($0.refused)\n\($0.end)"] })
    for (index, item) in Self.cases.enumerated() {
      let (allowed, refused) = (found[2 * index], found[2 * index + 1])
      #expect(allowed.isEmpty, "\(item.name): \(allowed)")
      #expect(refused.count == 1, "\(item.name): \(refused)")
      #expect(refused.allSatisfy { $0.contains(item.error) }, "\(item.name): \(refused)")
    }
  }
}
