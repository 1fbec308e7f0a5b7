import BatchEngine
import Glibc
import Synchronization

/// The calls of the kernel, of which some are replaced with faults. A fault is chosen by call, name and turn.
///
/// A name is the last component of the path that is opened or examined.
package final class FaultyCalls: FileSystemCalls {
  package enum Call: Hashable, Sendable {
    case open
    /// Opening a path below a folder in one call; counts as ``open`` too.
    case openBeneath
    /// The status of an open descriptor.
    case status
    /// The status of an entry of a folder.
    case entry
    case read, readEntries
    case lease, sync, syncFileSystem
    /// A call that changes a file: by its name, or for an open file by the name it was opened or made with.
    case change(FileChange)
  }

  package enum Fault: Sendable {
    /// The call has no effect and returns this error number.
    case fail(Int32)
    /// The same while the closure, which each call asks, returns true.
    case failWhile(Int32, @Sendable () -> Bool)
    /// A read at this offset or a later one returns this error number.
    case failBehind(off_t, Int32)
    /// Runs a closure before a read at this offset or a later one.
    case beforeBehind(off_t, @Sendable () -> Void)
    /// Runs a closure before the call, for example to change the file or to wait.
    case before(@Sendable () -> Void)
    /// Runs a closure after the call.
    case after(@Sendable () -> Void)
    /// A read returns at most this many bytes.
    case short(Int)
    /// Changes the status that the kernel returned.
    case status(@Sendable (inout stat) -> Void)
    /// Removes the kinds from the folder entries that the kernel returned.
    case withoutKinds
  }

  private struct Site: Hashable {
    let call: Call
    let name: PathBytes
  }

  private struct Rule {
    let call: Call
    /// nil means any name.
    let name: PathBytes?
    let turns: ClosedRange<Int>
    let fault: Fault
  }

  private struct State {
    var rules: [Rule] = []
    var names: [Int32: PathBytes] = [:]
    var turns: [Site: Int] = [:]
    var watch: (@Sendable (FileChange, PathBytes) -> Void)?
  }

  private let kernel = LinuxCalls()
  private let state = Mutex(State())

  package init() {}

  /// Replaces some calls with a fault.
  ///
  /// - Parameters:
  ///   - name: of the file or folder; nil means any name.
  ///   - turns: which of the calls with this name, counted from 1; all by default.
  package func on(_ call: Call, _ name: PathBytes?, turns: ClosedRange<Int> = 1...Int.max, _ fault: Fault) {
    state.withLock { $0.rules.append(Rule(call: call, name: name, turns: turns, fault: fault)) }
  }

  /// Calls `watch` before each call that changes a file, on the thread of the call.
  package func watchChanges(_ watch: @escaping @Sendable (FileChange, PathBytes) -> Void) {
    state.withLock { $0.watch = watch }
  }

  /// How often a call was made with a name.
  package func count(of call: Call, _ name: PathBytes) -> Int {
    state.withLock { $0.turns[Site(call: call, name: name)] ?? 0 }
  }

  // MARK: The calls

  package func open(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32 {
    let name = Self.name(path)
    let result = perform(.open, name) { _ in Int(kernel.open(path, at: directory, flags: flags)) }
    if result >= 0 { state.withLock { $0.names[Int32(result)] = name } }
    return Int32(result)
  }

  package func openBeneath(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32 {
    let name = Self.name(path)
    let result = perform(.openBeneath, name) { _ in
      perform(.open, name) { _ in Int(kernel.openBeneath(path, at: directory, flags: flags)) }
    }
    if result >= 0 { state.withLock { $0.names[Int32(result)] = name } }
    return Int32(result)
  }

  package func status(of descriptor: Int32, into status: inout stat) -> Int32 {
    var raw = stat()
    defer { status = raw }
    return Int32(
      perform(.status, name(of: descriptor)) { faults in
        let result = kernel.status(of: descriptor, into: &raw)
        for case .status(let change) in faults { change(&raw) }
        return Int(result)
      })
  }

  package func status(
    of path: UnsafePointer<CChar>, at directory: Int32, followingLinks: Bool, into status: inout stat
  ) -> Int32 {
    var raw = stat()
    defer { status = raw }
    return Int32(
      perform(.entry, Self.name(path)) { faults in
        let result = kernel.status(of: path, at: directory, followingLinks: followingLinks, into: &raw)
        for case .status(let change) in faults { change(&raw) }
        return Int(result)
      })
  }

  package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    perform(.read, name(of: descriptor)) { faults in
      var room = buffer.count
      for case .short(let count) in faults { room = min(room, count) }
      return kernel.read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
    }
  }

  package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: off_t) -> Int
  {
    perform(.read, name(of: descriptor)) { faults in
      for case .failBehind(let start, let number) in faults where offset >= start { return -Int(number) }
      for case .beforeBehind(let start, let action) in faults where offset >= start { action() }
      var room = buffer.count
      for case .short(let count) in faults { room = min(room, count) }
      return kernel.read(
        descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]), at: offset)
    }
  }

  package func readEntries(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    perform(.readEntries, name(of: descriptor)) { faults in
      var room = buffer.count
      for case .short(let count) in faults { room = min(room, count) }
      let count = kernel.readEntries(
        descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
      for case .withoutKinds in faults { Self.removeKinds(buffer, count) }
      return count
    }
  }

  package func tryReadLease(on descriptor: Int32) -> Int32 {
    Int32(perform(.lease, name(of: descriptor)) { _ in Int(kernel.tryReadLease(on: descriptor)) })
  }

  package func syncContent(of descriptor: Int32) -> Int32 {
    Int32(perform(.sync, name(of: descriptor)) { _ in Int(kernel.syncContent(of: descriptor)) })
  }

  package func syncFileSystem(of descriptor: Int32) -> Int32 {
    Int32(perform(.syncFileSystem, "") { _ in Int(kernel.syncFileSystem(of: descriptor)) })
  }

  package func change(_ change: FileChange, _ place: FileChangePlace, _ call: () -> Int) -> Int {
    let name =
      switch place {
      case .name(let name): Self.name(name)
      case .descriptor(let number): self.name(of: number)
      }
    state.withLock { $0.watch }?(change, name)
    let result = perform(.change(change), name) { _ in call() }
    if change == .create, result >= 0 { state.withLock { $0.names[Int32(result)] = name } }
    return result
  }

  // MARK: Steps

  private func perform(_ call: Call, _ name: PathBytes, _ body: ([Fault]) -> Int) -> Int {
    let faults = state.withLock { state -> [Fault] in
      let turn = state.turns[Site(call: call, name: name), default: 0] + 1
      state.turns[Site(call: call, name: name)] = turn
      return state.rules.filter {
        $0.call == call && ($0.name ?? name) == name && $0.turns.contains(turn)
      }.map(\.fault)
    }
    for case .before(let action) in faults { action() }
    for case .fail(let number) in faults { return -Int(number) }
    for case .failWhile(let number, let fails) in faults where fails() { return -Int(number) }
    let result = body(faults)
    for case .after(let action) in faults { action() }
    return result
  }

  private func name(of descriptor: Int32) -> PathBytes {
    state.withLock { $0.names[descriptor] ?? "" }
  }

  private static func name(_ path: UnsafePointer<CChar>) -> PathBytes {
    let bytes = UnsafeRawBufferPointer(start: path, count: strlen(path))
    return PathBytes(PathBytes(bytes).lastComponent)
  }

  private static func removeKinds(_ buffer: UnsafeMutableRawBufferPointer, _ count: Int) {
    var position = 0
    while position < count {
      buffer[position + 18] = UInt8(DT_UNKNOWN)
      position += Int(buffer.loadUnaligned(fromByteOffset: position + 16, as: UInt16.self))
    }
  }
}
