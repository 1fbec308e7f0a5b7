import BatchEngine
import Dispatch
import Synchronization

/// Decodes parts of a file on several threads and delivers their contents in order.
///
/// The receiving thread decodes too, so that exactly the requested number of threads works. Helpers run on serial queues of the
/// pipeline, which get their threads at once: in a global queue they would take the threads that completion blocks need. No thread
/// waits for memory: a helper ends, and another one is started when there is memory again.
final class PartPipeline: Sendable {
  struct Content: Sendable {
    /// A reused buffer; only the first `count` bytes are valid.
    var bytes: [UInt8]
    let measure: Measure
  }

  struct Measure: Sendable {
    /// Bytes of content.
    let count: Int
    /// gzip: the CRC-32 of the content.
    var check: UInt32 = 0
    var checkGap: CheckGap?
    /// bzip2: what the part contains.
    var bzip2: BZip2PartDecoder.Findings?
  }

  /// Decodes one part.
  ///
  /// - Parameters:
  ///   - input: a reused buffer for the compressed bytes.
  ///   - output: a reused buffer for the content.
  /// - Returns: nil when the part does not match its recorded size.
  typealias Decode =
    @Sendable (_ part: CompressedPart, _ input: inout [UInt8], _ output: inout [UInt8]) -> Measure?

  private enum Slot {
    case pending
    case decoded(Content?)
  }

  /// A part that a thread is decoding.
  fileprivate struct Claim {
    let index: Int
    var input: [UInt8]
    var output: [UInt8]
  }

  private struct State {
    /// The next part to decode.
    var next = 0
    var delivered = 0
    /// Bytes of content of the parts between both indices.
    var plainSize: UInt64 = 0
    /// The queues on which no helper runs.
    var idle: [Int]
    var slots: [Slot]
    var isStopped = false
  }

  /// Reused buffers, also for the pipeline of the following parts.
  final class Rooms: Sendable {
    fileprivate let inputs = Mutex<[[UInt8]]>([])
    fileprivate let outputs = Mutex<[[UInt8]]>([])
  }

  private let parts: [CompressedPart]
  private let ahead: Int
  private let largest: UInt64
  private let rooms: Rooms
  private let decode: Decode
  private let state: Mutex<State>
  private let ready = DispatchSemaphore(value: 0)
  private let helpers = DispatchGroup()
  /// One for each helper.
  private let queues: [DispatchQueue]

  /// - Parameters:
  ///   - width: threads; 1 or more.
  ///   - ahead: how many parts may be in memory; 1 or more.
  ///   - largest: how many bytes of content may be in memory, in addition to one part.
  init(
    _ parts: [CompressedPart], width: Int, ahead: Int, largest: UInt64, rooms: Rooms = Rooms(),
    decode: @escaping Decode
  ) {
    self.parts = parts
    self.ahead = ahead
    self.largest = largest
    self.rooms = rooms
    self.decode = decode
    queues = (1..<max(1, width)).map { DispatchQueue(label: "batchproc.decoder-\($0)") }
    state = Mutex(State(idle: Array(queues.indices), slots: parts.map { _ in .pending }))
  }

  /// Decodes all parts.
  ///
  /// - Returns: false when a part does not match its recorded size; the contents before it were delivered.
  /// - Throws: the error of `deliver`.
  func run(_ deliver: (Content) throws(BatchError) -> Void) throws(BatchError) -> Bool {
    defer {
      state.withLock { $0.isStopped = true }
      helpers.wait()
    }
    for index in parts.indices {
      startHelpers()
      guard var content = content(of: index) else { return false }
      try deliver(content)
      state.withLock { state in
        state.delivered = index + 1
        state.plainSize -= parts[index].plainSize
      }
      var room: [UInt8] = []
      swap(&room, &content.bytes)
      rooms.outputs.withLock { [room] in $0.append(room) }
    }
    return true
  }

  private func startHelpers() {
    while true {
      let queue = state.withLock { state in hasRoom(state) ? state.idle.popLast() : nil }
      guard let queue else { return }
      queues[queue].async(group: helpers) { self.help(on: queue) }
    }
  }

  private func hasRoom(_ state: State) -> Bool {
    guard !state.isStopped, state.next < parts.count else { return false }
    if state.next == state.delivered { return true }
    return state.next - state.delivered < ahead
      && parts[state.next].plainSize <= largest - min(largest, state.plainSize)
  }

  /// The next part to decode; nil when no part is left, or no memory is free.
  ///
  /// - Parameter queue: that of the calling helper, which ends without a part; nil for the receiving thread.
  private func claim(by queue: Int?) -> Claim? {
    state.withLock { state in
      guard hasRoom(state) else {
        if let queue { state.idle.append(queue) }
        return nil
      }
      defer { state.next += 1 }
      state.plainSize += parts[state.next].plainSize
      return Claim(
        index: state.next, input: rooms.inputs.withLock { $0.popLast() } ?? [],
        output: rooms.outputs.withLock { $0.popLast() } ?? [])
    }
  }

  private func decode(_ claim: inout Claim) {
    let measure = decode(parts[claim.index], &claim.input, &claim.output)
    let content = measure.map { Content(bytes: claim.output, measure: $0) }
    rooms.inputs.withLock { [input = claim.input] in $0.append(input) }
    state.withLock { [index = claim.index] state in state.slots[index] = .decoded(content) }
  }

  private func help(on queue: Int) {
    while var claim = claim(by: queue) {
      decode(&claim)
      ready.signal()
    }
  }

  /// Waits for a part, and decodes others meanwhile.
  private func content(of index: Int) -> Content? {
    while true {
      let slot = state.withLock { state in
        let slot = state.slots[index]
        if case .decoded = slot { state.slots[index] = .pending }
        return slot
      }
      if case .decoded(let content) = slot { return content }
      if var claim = claim(by: nil) {
        decode(&claim)
      } else {
        ready.wait()
      }
    }
  }
}
