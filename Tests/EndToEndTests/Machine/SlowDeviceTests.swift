import BatchEngine
import Foundation
import TestSupport
import Testing

/// Runs on a simulated device whose opens and reads take time, with real threads.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SlowDeviceTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let source = Repository.root.appendingPathComponent("Tests")
      .appendingPathComponent("SlowDevice/slow-device.c").path
    let compiled = try t.shell(
      "cc -shared -fPIC -O2 -Wall -Wextra -Werror \(source) -o slow.so -ldl -lpthread")
    try #require(compiled.status == 0, "\(compiled.errorText)")
    for number in 0..<600 { try t.file(PathBytes("t/d\(number % 6)/f\(number)"), "content \(number)\n") }
  }

  private func environment(_ model: String) -> [String: String] {
    let root = String(decoding: t.root.bytes, as: UTF8.self)
    return [
      "LD_PRELOAD": root + "/slow.so", "SLOW_DEVICE": model, "SLOW_DEVICE_ROOT": root + "/t",
      "SLOW_DEVICE_LOG": root + "/log",
    ]
  }

  /// The greatest number of concurrent requests that the device saw.
  private func mostRequests() throws -> Int {
    let text = try String(
      contentsOfFile: String(decoding: t.root.bytes, as: UTF8.self) + "/log", encoding: .utf8)
    return Int(text.split(whereSeparator: \.isWhitespace).last ?? "") ?? 0
  }

  @Test func autoUsesAWideDevice() throws {
    let run = try t.batchproc(
      ["hash", "--json", "--stride", "4", "t"], environment: environment("10000:64"))
    #expect(run.status == 0)
    let lines = run.text.split(separator: "\n")
    let changes = lines.filter { $0.contains("\"type\":\"concurrency\"") }
    #expect(changes.contains { $0.contains("\"reason\":\"waiting\"") }, "\(changes)")
    #expect(lines.last?.contains("\"concurrency\":") ?? false)
    #expect(try mostRequests() > 16)
    let rows = lines.filter { $0.contains("\"type\":\"file\"") }.map { $0.drop { $0 != "p" } }
    #expect(rows.count == 600)
  }

  @Test func rowsAreTheSameAtAnyConcurrency() throws {
    let one = try t.batchproc("hash", "-j", "1", "t")
    let auto = try t.batchproc(["hash", "-v", "--stride", "4", "t"], environment: environment("5000:32"))
    #expect(auto.status == 0)
    #expect(auto.output == one.output)
    #expect(auto.errorText.contains("batchproc: concurrency "))
    #expect(auto.errorText.contains(" at the end"))
  }

  @Test func aFixedNumberStays() throws {
    let run = try t.batchproc(
      ["hash", "-v", "-j", "2", "--stride", "4", "t"], environment: environment("1000:64"))
    #expect(!run.errorText.contains("concurrency"))
    #expect(!run.errorText.contains("at the end"))
    // Two files, and the folders that are read ahead.
    #expect(try mostRequests() <= 5)
  }
}
