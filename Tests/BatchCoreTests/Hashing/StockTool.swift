import Foundation
import Glibc

@testable import BatchCore
@testable import BatchEngine

/// Runs a program of the system to compare with, in the C locale and with files for its streams, so
/// that no pipe can fill up.
struct StockTool {
  let status: Int32
  let output: [UInt8]
  let errors: [UInt8]

  var text: String { String(decoding: output, as: UTF8.self) }

  /// - Parameter script: for sh, with the folder as its working directory; its stdin is `input`.
  init(_ script: String, input: [UInt8] = [], in folder: ByteFolder? = nil) throws {
    let streams = try ByteFolder()
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
