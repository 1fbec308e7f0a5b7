import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Requests to calls that run.
/// One at a time, since the calls of a process share its descriptors.
@Suite(.serialized, .timeLimit(.minutes(3))) struct BatchControlTests {
  private let t: TreeFixture
  private let control = Batch.Control()

  init() throws {
    t = try TreeFixture()
    for number in 0..<20 {
      try t.file(PathBytes("d/\(number)"), String(repeating: "\(number)\n", count: 5000))
    }
  }

  private var settings: Batch.Settings {
    var settings = Batch.Settings()
    settings.control = control
    settings.stride = 1
    return settings
  }

  private func hash(
    _ change: (inout Batch.Settings) -> Void = { _ in }, each: (@Sendable (Batch.HashedFile) -> Void)? = nil
  ) async throws -> Batch.Report<Void> {
    var options = Batch.HashOptions()
    options.settings = settings
    change(&options.settings)
    return try await Batch.hash([t.path("d")], options, each: each)
  }

  @Test("calls that were paused before they began, also at once, read nothing until they are resumed")
  func pause() async throws {
    control.pause()
    let (resumed, early) = (Recorder<Bool>(), Recorder<PathBytes>())
    let calls = [1, nil].map { number in
      Task {
        try await hash {
          $0.concurrency = number
        } each: { file in
          if resumed.count == 0 { early.record(file.path) }
        }
      }
    }
    // Takes as long as the others would take.
    #expect(try await hash { $0.control = nil }.counts.done == 20)
    resumed.record(true)
    control.resume()
    for call in calls { #expect(try await call.value.counts.done == 20) }
    #expect(early.values == [])
  }

  @Test("a call that is cancelled while it is paused ends")
  func cancel() async throws {
    var options = Batch.TransformOptions(suffix: ".t")
    options.settings = settings
    options.settings.concurrency = 1
    let (begun, one) = (Gate(), options)
    let task = Task {
      try await Batch.transform([t.path("d")], one) { [control] bytes in
        control.pause()
        begun.open()
        return bytes
      }
    }
    try await onThread { begun.pass() }
    task.cancel()
    let report = try await task.value
    #expect(report.isCancelled && report.written <= 1)
  }

  @Test("a limit that is lifted while a call waits, or before it begins, holds no more")
  func rate() async throws {
    // With these limits the calls would take days.
    var options = Batch.HashOptions()
    options.settings = settings
    options.settings.bytesPerSecond = 1
    let (slow, progress) = (options, Batch.Progress(every: .milliseconds(1)))
    let waiting = Task { try await Batch.hash([t.path("d")], slow, progress: progress) }
    for await _ in progress { break }
    control.setRate(bytesPerSecond: nil)
    #expect(try await waiting.value.counts.done == 20)
    #expect(try await hash { $0.bytesPerSecond = 1 }.counts.done == 20)
    control.setRate(bytesPerSecond: 1)
    let limited = Task { try await hash() }
    control.setRate(bytesPerSecond: nil)
    #expect(try await limited.value.counts.done == 20)
  }

  @Test("more operations run at once when a call is asked for them", arguments: [false, true])
  func concurrency(isEarly: Bool) async throws {
    var options = Batch.TransformOptions(suffix: ".t")
    options.settings = settings
    options.settings.concurrency = 1
    options.isSynced = false
    if isEarly { control.setConcurrency(3) }
    // The files wait for each other, so with one operation the call would not end.
    let together = Rendezvous(3)
    let report = try await Batch.transform([t.path("d")], options) { [control] bytes in
      if !isEarly { control.setConcurrency(3) }
      together.arrive()
      return bytes
    }
    #expect(report.written == 20)
  }
}
