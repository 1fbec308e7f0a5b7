import Foundation
import Testing

/// Which system calls the targets above the engine can see, read from their import lines.
///
/// Calls on files belong to BatchEngine, where tests replace them with faulty ones. The import lines do not
/// show a call that a C library's headers bring in from the system's headers.
@Suite struct ImportedCallsTests {
  /// Libraries that are imported as a whole.
  private static let modules: Set<String> = [
    "BatchCore", "BatchEngine", "BatchOutputs", "CArchive", "CBuild", "CBZip2", "CBlake3", "CCrypto",
    "CDeflate",
    "CGFComplete",
    "CIPSecMB", "CIsal", "CLZ4", "CMD5", "CSHA256",
    "CLZMA", "CSQLite", "CXXHash",
    "CZlib", "CZstd", "Dispatch", "Synchronization",
  ]
  /// Calls that are not about files: memory, text, time, locale and the process.
  private static let calls: Set<String> = [
    "CLinux.clinux_argument", "CLinux.clinux_confine", "CLinux.clinux_end_with_peer",
    "CLinux.clinux_pidfd_open",
    "CLinux.clinux_spawn_reader",
    "CLinux.clinux_spawn_shell",
    "Glibc._exit", "Glibc.dlopen", "Glibc.dlsym", "Glibc.exit", "Glibc.free", "Glibc.getenv",
    "Glibc.gethostname", "Glibc.getpid", "Glibc.getrlimit", "Glibc.getrusage", "Glibc.gmtime_r",
    "Glibc.kill", "Glibc.localtime_r", "Glibc.log", "Glibc.madvise", "Glibc.malloc", "Glibc.memchr",
    "Glibc.memcmp",
    "Glibc.memcpy", "Glibc.memset", "Glibc.mktime", "Glibc.newlocale", "Glibc.poll", "Glibc.recv",
    "Glibc.regcomp",
    "Glibc.regerror", "Glibc.regexec", "Glibc.regfree", "Glibc.send", "Glibc.setrlimit", "Glibc.socketpair",
    "Glibc.strftime", "Glibc.strlen",
    "Glibc.sysconf", "Glibc.time", "Glibc.timegm", "Glibc.tolower", "Glibc.toupper", "Glibc.uname",
    "Glibc.uselocale",
    "Glibc.pause", "Glibc.usleep", "Glibc.waitpid",
  ]
  /// The types that are used of Foundation. Foundation as a whole re-exports Glibc, and has file calls of its
  /// own. Of a URL, which a user of the library may give, only the bytes of its path are taken.
  private static let types: Set<String> = [
    "Foundation.Data", "Foundation.URL", "Foundation.JSONDecoder", "Foundation.Operation",
    "Foundation.OperationQueue",
  ]

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Why an import line is not allowed; nil if it is.
  private static func objection(to line: Substring) -> String? {
    let words = line.split(separator: " ").drop { $0 != "import" }.dropFirst()
    guard let last = words.last else { return "no module" }
    let name = String(last)
    switch words.count == 1 ? nil : words.first {
    case nil: return modules.contains(name) ? nil : "a whole module"
    case "func": return calls.contains(name) ? nil : "a call that is not known to be about no file"
    case "var", "let", "typealias": return nil
    default: return name.hasPrefix("Glibc.") || types.contains(name) ? nil : "a type that is not known"
    }
  }

  @Test(
    "no file of the library or the command sees a call on files",
    arguments: ["BatchOutputs", "BatchCore", "batchproc"])
  func seesNoCallOnFiles(target: String) throws {
    let base = Self.root.appendingPathComponent("Sources/\(target)")
    let names = try FileManager.default.subpathsOfDirectory(atPath: base.path).filter {
      $0.hasSuffix(".swift")
    }
    var count = 0
    for name in names {
      let text = try String(contentsOf: base.appendingPathComponent(name), encoding: .utf8)
      for line in text.split(separator: "\n") where line.split(separator: " ").prefix(3).contains("import") {
        count += 1
        let objection = Self.objection(to: line)
        #expect(objection == nil, "\(target)/\(name): \(line)")
      }
    }
    #expect(count > names.count)
  }

  @Test(
    "distinguishes allowed from forbidden import lines",
    arguments: [
      ("import Glibc", false), ("import CLinux", false), ("import Foundation", false),
      ("import Dispatch", true),
      ("@preconcurrency import Foundation", false), ("import func Glibc.unlink", false),
      ("import func Glibc.strlen", true),
      ("import var Glibc.ENOENT", true), ("import struct Glibc.tm", true),
      ("import class Foundation.FileManager", false),
      ("import func CLinux.clinux_renameat2", false), ("import Glibc.unistd", false),
    ])
  func tells(line: String, isAllowed: Bool) {
    #expect((Self.objection(to: line[...]) == nil) == isAllowed)
  }
}
