import BatchEngine
import Testing

@testable import batchproc

@Suite struct CorrectionTests {
  /// The corrected command line for a wrong one; nil if none is offered.
  private func line(_ words: String...) throws -> String? {
    let arguments = words.map { PathBytes($0) }
    do throws(UsageError) {
      guard case .run(let parsed) = try CommandLineParser(environment: { _ in nil }).parse(arguments) else {
        return ""
      }
      if parsed.command.name == "archive" {
        do {
          _ = try ArchiveChoices(parsed) { _ in nil }
        } catch let error as UsageError {
          return error.correction?.line(of: arguments)
        } catch {}
      }
      return ""
    } catch {
      return error.correction?.line(of: arguments)
    }
  }

  @Test func theWholeLineIsShown() throws {
    #expect(try line("archive", "p.tar.zst", "p") == "batchproc archive -o p.tar.zst p")
    #expect(
      try line("archive", "-v", "my files/") == "batchproc archive -o 'my files.tar.zst' -v 'my files/'")
    #expect(
      try line("archive", "--format", "zip", "p")
        == "batchproc archive -o p.zip --format zip p")
    #expect(try line("hash", "--threds", "4", "t") == "batchproc hash --threads 4 t")
    #expect(try line("hash", "--excude=*.o", "t") == "batchproc hash '--exclude=*.o' t")
    #expect(try line("hsh", "-q", "t") == "batchproc hash -q t")
    #expect(try line("extract", "--jobs", "4", "a") == "batchproc extract -j 4 a")
    #expect(try line("extract", "--jobs=4", "a") == "batchproc extract -j 4 a")
    #expect(try line("hash", "--md5", "t") == "batchproc hash -a md5 t")
    #expect(try line("hash") == "batchproc hash photos >photos.sha256")
  }

  @Test func noLineIsShownThatWouldFail() throws {
    #expect(try line("archive", "..") == nil)
    #expect(try line("hash", "-q", "--algorithm", "sha256") == nil)
    #expect(try line("compress", "-o", "x", "t") == nil, "the answer has a redirection")
    #expect(try line("hsh", "\u{1b}[2J") == nil)
    #expect(try line("hash", "--nothing-like-it", "t") == nil)
  }
}
