import BatchCore
import BatchEngine
import Foundation
import Glibc
import Testing

/// A fresh folder with files of any name in it, and programs that run there; removed with its last reference.
final class TreeFixture {
  let path: String

  /// - Parameter parent: on a file system that suits the test.
  init(below parent: String = "/tmp") throws {
    var template = Array((parent + "/batchproc-e2e-XXXXXX").utf8CString)
    try #require(mkdtemp(&template) != nil)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Other users come by in some tests.
    chmod(path, 0o755)
  }

  deinit {
    // Trees that are too deep for a path, or that hold what only their owner may open.
    let remover = Process()
    remover.executableURL = URL(fileURLWithPath: "/bin/sh")
    remover.arguments = [
      "-c", "rm -rf \"$1\" 2>/dev/null || { chmod -R u+rwx \"$1\"; rm -rf \"$1\"; }", "sh", path,
    ]
    remover.standardError = FileHandle.nullDevice
    guard (try? remover.run()) != nil else { return }
    remover.waitUntilExit()
  }

  func absolute(_ name: PathBytes) -> PathBytes { PathBytes(path).appending(name.bytes) }

  // MARK: Making and looking

  /// Makes a file, and the folders on the way to it, or replaces its content.
  func write(_ name: PathBytes, _ content: some Collection<UInt8>) throws {
    let target = absolute(name)
    var descriptor = create(target)
    if descriptor < 0, errno == ENOENT {
      makeFolders(above: target)
      descriptor = create(target)
    }
    try #require(descriptor >= 0, "\(name): \(String(cString: strerror(errno)))")
    defer { close(descriptor) }
    var rest = Array(content)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      try #require(count > 0)
      rest = rest.dropFirst(count)
    }
  }

  func write(_ name: PathBytes, _ content: String) throws { try write(name, Array(content.utf8)) }

  /// Makes an ordinary small tree below a name: texts, an empty file, a folder, and one of 200,000 bytes.
  func writeTree(_ name: PathBytes = "t") throws {
    try write(name.appending("text".utf8), "a small text\n")
    try write(name.appending("empty".utf8), "")
    try write(name.appending("d/one".utf8), "1\n")
    try write(name.appending("d/two".utf8), "2\n")
    try write(
      name.appending("big".utf8), (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })
  }

  /// The content of a file; nil when it cannot be read.
  func read(_ name: PathBytes) -> [UInt8]? {
    let descriptor = absolute(name).withCString { open($0, O_RDONLY | O_CLOEXEC) }
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return count == 0 ? content : nil }
      content += buffer[..<count]
    }
  }

  func exists(_ name: PathBytes) -> Bool {
    var raw = stat()
    return absolute(name).withCString { lstat($0, &raw) } == 0
  }

  /// The names in a folder, hidden ones too, in the order of their bytes.
  func names(in folder: PathBytes = ".") -> [PathBytes] {
    guard let stream = absolute(folder).withCString({ opendir($0) }) else { return [] }
    defer { closedir(stream) }
    var names: [PathBytes] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: UInt8.self, capacity: 256) {
          Array(UnsafeBufferPointer(start: $0, count: 256))
        }
      }
      let bytes = name.prefix { $0 != 0 }
      if bytes != [46], bytes != [46, 46] { names.append(PathBytes(bytes)) }
    }
    return names.sorted()
  }

  /// The temporary files of outputs that are being written, or were left.
  func temporaries(in folder: PathBytes = ".") -> [PathBytes] {
    names(in: folder).filter { $0.bytes.starts(with: ".batchproc-".utf8) }
  }

  private func create(_ path: PathBytes) -> Int32 {
    path.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644) }
  }

  private func makeFolders(above path: PathBytes) {
    for end in path.bytes.indices.dropFirst() where path.bytes[end] == UInt8(ascii: "/") {
      _ = PathBytes(path.bytes[..<end]).withCString { mkdir($0, 0o755) }
    }
  }

  // MARK: Running

  /// Runs the built binary in this folder.
  @discardableResult
  func batchproc(
    _ arguments: PathBytes..., input: [UInt8] = [], environment: [String: String] = [:]
  ) throws -> Outcome {
    try batchproc(arguments, input: input, environment: environment)
  }

  func batchproc(
    _ arguments: [PathBytes], input: [UInt8] = [], environment: [String: String] = [:], seconds: Double = 60
  ) throws -> Outcome {
    try start(arguments, input: input, environment: environment).wait(seconds: seconds)
  }

  /// Starts the built binary in this folder.
  func start(
    _ arguments: [PathBytes], input: [UInt8] = [], environment: [String: String] = [:]
  ) throws -> RunningProgram {
    try RunningProgram(
      [Array(Host.binary.utf8)] + arguments.map(\.bytes), input: input, environment: environment,
      in: Array(path.utf8))
  }

  /// Runs a script in this folder; `$BP` is the built binary.
  @discardableResult
  func shell(
    _ script: String, input: [UInt8] = [], environment: [String: String] = [:], seconds: Double = 60
  ) throws -> Outcome {
    try startShell(script, input: input, environment: environment).wait(seconds: seconds)
  }

  func startShell(
    _ script: String, input: [UInt8] = [], environment: [String: String] = [:]
  ) throws -> RunningProgram {
    try RunningProgram(
      ["bash", "-c", script].map { Array($0.utf8) }, input: input,
      environment: environment.merging(["BP": Host.binary]) { given, _ in given }, in: Array(path.utf8))
  }
}
