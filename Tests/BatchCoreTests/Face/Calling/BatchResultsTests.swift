import BatchCore
import BatchEngine
import Synchronization
import TestSupport
import Testing

/// The rows of calls as asynchronous sequences.
/// One at a time, since the calls of a process share its descriptors.
@Suite(.serialized, .timeLimit(.minutes(3))) struct BatchResultsTests {
  private let t: TreeFixture
  private static let count = 400
  private var d: PathBytes { t.path("d") }

  init() throws {
    t = try TreeFixture()
    for number in 0..<Self.count { try t.file(PathBytes("d/\(number)"), "\(number)\n") }
  }

  private typealias Results = Batch.Results<Batch.HashedFile, Void>

  private func hashing(
    capacity: Int, _ options: Batch.HashOptions = Batch.HashOptions(),
    passed: (@Sendable () -> Void)? = nil
  ) -> Results {
    Batch.Results(capacity: capacity) { [d] each in
      try await Batch.hash([d], options) { file in
        each(file)
        passed?()
      }
    }
  }

  @Test("rows come in the order of the tree, and the report after them", arguments: [1, 7, 100_000])
  func rows(capacity: Int) async throws {
    let expected = Recorder<PathBytes>()
    _ = try await Batch.hash([d]) { expected.record($0.path) }
    let results = hashing(capacity: capacity)
    var paths: [PathBytes] = []
    for try await file in results { paths.append(file.path) }
    #expect(paths == expected.values && paths.count == Self.count)
    let report = try await results.report()
    #expect(report.counts.done == Self.count && !report.isCancelled)
  }

  @Test("a run is never further ahead of its reader than there is room", arguments: [1, 16])
  func backPressure(capacity: Int) async throws {
    let passed = Mutex(0)
    let results = hashing(capacity: capacity) { passed.withLock { $0 += 1 } }
    var read = 0
    for try await _ in results {
      read += 1
      let ahead = passed.withLock { $0 } - read
      #expect(ahead < capacity)
    }
    #expect(read == Self.count && results.capacity == capacity)
  }

  @Test("the call is cancelled when the reader stops")
  func leaving() async throws {
    let results = hashing(capacity: 4)
    for try await _ in results { break }
    #expect(try await results.report().isCancelled)
  }

  @Test("the call is cancelled with the task that reads, and has ended when the sequence ends")
  func cancellation() async throws {
    let results = hashing(capacity: 4)
    let read = try await Task {
      var read = 0
      for try await _ in results {
        read += 1
        withUnsafeCurrentTask { $0?.cancel() }
      }
      return read
    }.value
    #expect(read < Self.count)
    #expect(try await results.report().isCancelled)
  }

  @Test("a reader that waits for a row is resumed when its task is cancelled")
  func cancelledWait() async throws {
    let control = Batch.Control()
    control.pause()
    var options = Batch.HashOptions()
    options.settings.control = control
    let results = hashing(capacity: 4, options)
    let task = Task { () throws(BatchError) in
      let rows = results.makeAsyncIterator()
      return try await rows.next()
    }
    task.cancel()
    #expect(try await task.value == nil)
    #expect(try await results.report().isCancelled)
  }

  @Test("the error of the call is thrown once, and by the report")
  func failure() async throws {
    var options = Batch.HashOptions()
    options.algorithms = []
    let results = hashing(capacity: 4, options)
    let rows = results.makeAsyncIterator()
    let error = await #expect(throws: BatchError.self) { try await rows.next() }
    #expect(error?.code == .invalid)
    #expect(try await rows.next() == nil)
    await #expect(throws: BatchError.self) { try await results.report() }
  }

  @Test("a report that is awaited first drops the rows")
  func reportAlone() async throws {
    let results = hashing(capacity: 1)
    #expect(try await results.report().counts.done == Self.count)
    for try await _ in results { Issue.record("a row that was dropped") }
  }

  @Test("an error of another type has the code invalid")
  func otherError() async {
    struct Other: Error {}
    let results = Batch.Results<Int, Void> { _ in throw Other() }
    let error = await #expect(throws: BatchError.self) { try await results.report() }
    #expect(error?.code == .invalid)
  }
}
