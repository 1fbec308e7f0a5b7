import Foundation
import Glibc

@testable import BatchCore

/// Runs a program of the system to compare with, in the C locale and with files for its streams, so
/// that no pipe can fill up.
struct StockTool {
  let status: Int32
  let output: [UInt8]
  let errors: [UInt8]

  var text: String { String(decoding: output, as: UTF8.self) }

  /// - Parameter script: for sh, with the folder as its working directory; its stdin is `input`.
  init(_ script: String, input: [UInt8] = [], in folder: TemporaryFolder? = nil) throws {
    let streams = try TemporaryFolder()
    try streams.write(input, to: "in")
    try streams.write([], to: "out")
    try streams.write([], to: "err")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script]
    process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C"]
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder.path) }
    process.standardInput = FileHandle(forReadingAtPath: streams.path + "/in")
    process.standardOutput = FileHandle(forWritingAtPath: streams.path + "/out")
    process.standardError = FileHandle(forWritingAtPath: streams.path + "/err")
    try process.run()
    process.waitUntilExit()
    status = process.terminationStatus
    output = try streams.read("out")
    errors = try streams.read("err")
  }
}

/// A folder of a test, removed with its last reference; names in it may be any bytes.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/batchcore-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func write(_ bytes: [UInt8], to name: PathBytes) throws {
    let file = PathBytes(path).appending(name.bytes)
    let descriptor = file.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC, 0o644) }
    guard descriptor >= 0 else { throw BatchError.syscall("open", errno: errno, path: file) }
    defer { close(descriptor) }
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw BatchError.syscall("write", errno: errno, path: file)
    }
  }

  func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))
  }
}
