import CLinux
import Glibc

/// A child that runs, or that has ended and whose pipes are not closed yet. Only the thread of its runner uses it.
final class ChildProcess {
  /// The descriptors that the loop watches; a key is the number of the child with one of these.
  enum Watched: UInt64 {
    case end, output, errors
  }

  let captured: (output: CapturedOutput, errors: CapturedOutput)
  let output: ChildStream?
  let errors: ChildStream
  let started: Double
  private let key: UInt64
  private let pid: Int32
  private let place: Int32
  private let site: ChildSite
  /// Reports the end; nil after it, and when a thread waits for it.
  private var pidfd: Descriptor?
  /// Why it is being ended.
  private var reason: ChildEnding.Status?
  /// When something is to be done with it: it is ended, then killed; after its end its pipes are closed.
  private(set) var due: Double
  private var ending: Result<ChildEnding, BatchError>?

  private init(
    _ key: UInt64, pid: Int32, place: Int32, at site: ChildSite, started: Double, timeLimit: Double?,
    output: ChildStream?, errors: ChildStream, captured: (output: CapturedOutput, errors: CapturedOutput)
  ) {
    (self.key, self.pid, self.place, self.site, self.started) = (key, pid, place, site, started)
    (self.output, self.errors, self.captured) = (output, errors, captured)
    due = timeLimit.map { started + $0 } ?? .infinity
  }

  var hasEnded: Bool { ending != nil }

  // MARK: The start

  /// - Parameters:
  ///   - key: a number for the events of this child, a multiple of 4.
  /// - Throws: `exhausted` when it could be started later, if other processes end.
  static func start(
    _ command: ChildCommand, tag: Int, key: UInt64, at site: ChildSite
  ) throws(BatchError) -> ChildProcess {
    guard let place = site.guardian.takePlace() else {
      throw BatchError(.exhausted, "too many processes run", path: command.program)
    }
    do throws(BatchError) {
      return try start(command, tag: tag, key: key, place: place, at: site)
    } catch {
      site.guardian.giveBack(place)
      throw error
    }
  }

  private static func start(
    _ command: ChildCommand, tag: Int, key: UInt64, place: Int32, at site: ChildSite
  ) throws(BatchError) -> ChildProcess {
    let captured = (output: CapturedOutput(site.captures), errors: CapturedOutput(site.captures))
    let errorEnds = try pipe()
    let lines = site.liveErrors.map { pass in ErrorLines { pass(tag, $0) } }
    let errors = ChildStream(Descriptor(owning: errorEnds.reading), into: captured.errors, lines: lines)
    let errorTarget = Descriptor(owning: errorEnds.writing)
    var output: ChildStream?
    var outputTarget: Descriptor?
    if command.output == nil {
      let ends = try pipe()
      output = ChildStream(Descriptor(owning: ends.reading), into: captured.output)
      outputTarget = Descriptor(owning: ends.writing)
    }
    let started = ChildLoop.now()
    let pid = try start(
      command, output: command.output ?? outputTarget?.raw ?? -1, errors: errorTarget.raw, place: place,
      at: site)
    outputTarget = nil
    let process = ChildProcess(
      key, pid: pid, place: place, at: site, started: started, timeLimit: command.timeLimit,
      output: output, errors: errors, captured: captured)
    do throws(BatchError) {
      try process.watch()
    } catch {
      process.signalGroup(SIGKILL)
      var facts = clinux_child_ending()
      clinux_reap_child(pid, &facts)
      throw error
    }
    return process
  }

  private static func pipe() throws(BatchError) -> (reading: Int32, writing: Int32) {
    var ends: (reading: Int32, writing: Int32) = (-1, -1)
    let failed = clinux_output_pipe(&ends.reading, &ends.writing)
    guard failed == 0 else { throw .syscall("make a pipe", errno: failed) }
    return ends
  }

  private static func start(
    _ command: ChildCommand, output: Int32, errors: Int32, place: Int32, at site: ChildSite
  ) throws(BatchError) -> Int32 {
    for word in [command.program] + command.arguments + command.environment where word.containsNUL {
      throw BatchError(.invalid, "a command cannot contain a NUL byte", path: command.program)
    }
    let arguments = command.arguments.reduce(into: [UInt8]()) { $0 += $1.bytes + [0] } + [0]
    let variables = command.environment.reduce(into: [UInt8]()) { $0 += $1.bytes + [0] } + [0]
    var pid: Int32 = 0
    let failed = command.program.withCString { program in
      arguments.withUnsafeBytes { arguments in
        variables.withUnsafeBytes { variables in
          var child = clinux_child(
            program: program, arguments: arguments.baseAddress, argument_count: command.arguments.count,
            variables: variables.baseAddress, input: command.input ?? site.null.raw, output: output,
            errors: errors, groups: site.guardian.groups, place: place)
          return clinux_start_child(&child, &pid)
        }
      }
    }
    if failed == ENOENT, (try? command.program.status(followingLinks: true)) != nil {
      throw BatchError(
        .missing, "cannot start: the interpreter that its first line names is missing", path: command.program)
    }
    guard failed == 0 else { throw .start("start", errno: failed, path: command.program) }
    return pid
  }

  /// Registers the pipes and the end of the process with the loop.
  private func watch() throws(BatchError) {
    if let output { try site.watch(output.raw, as: key | Watched.output.rawValue) }
    try site.watch(errors.raw, as: key | Watched.errors.rawValue)
    let opened = site.hasPidfd ? clinux_pidfd_open(pid) : -1
    guard opened < 0 else {
      pidfd = Descriptor(owning: opened)
      return try site.watch(opened, as: key | Watched.end.rawValue)
    }
    try site.requests.awaitEnd(of: pid, key: key)
  }

  // MARK: The end

  /// Begins to end the process group; KILL follows after the grace.
  func terminate(_ number: Int32, reason: ChildEnding.Status) {
    guard !hasEnded, self.reason == nil else { return }
    self.reason = reason
    signalGroup(number)
    // A stopped process gets the signal when it continues.
    signalGroup(SIGCONT)
    due = ChildLoop.now() + site.times.grace
  }

  /// Does what is due: ends or kills the process, or closes the pipes that others hold.
  func act() {
    if hasEnded { return close() }
    if reason == nil { return terminate(SIGTERM, reason: .timeLimit) }
    due = .infinity
    signalGroup(SIGKILL)
  }

  /// The process has not been waited for, so that its number is valid.
  private func signalGroup(_ number: Int32) { kill(-pid, number) }

  /// Reads how the process ended, and frees its number. From now on its pipes are read for a limited time.
  func reap() {
    // If it is being ended, so is what is left of its group.
    if reason != nil { signalGroup(SIGKILL) }
    site.guardian.giveBack(place)
    var facts = clinux_child_ending()
    let failed = clinux_reap_child(pid, &facts)
    let now = ChildLoop.now()
    due = now + site.times.linger
    if let raw = pidfd?.raw { site.forget(raw) }
    pidfd = nil
    guard failed == 0 else {
      ending = .failure(
        BatchError(.invalid, "another part of this program took the exit status of a command", errno: failed))
      return
    }
    let status: ChildEnding.Status = facts.signal != 0 ? .signal(facts.signal) : .exit(facts.status)
    ending = .success(
      ChildEnding(
        status: reason ?? status, wall: now - started, user: facts.user_seconds, system: facts.system_seconds,
        peakMemory: facts.peak_memory, output: captured.output, errors: captured.errors))
  }

  /// Reads from its pipes, of which one is ready or the process has ended.
  ///
  /// - Returns: whether there may be more to read at once.
  func read(_ stream: ChildStream?, with buffer: UnsafeMutableRawBufferPointer) -> Bool {
    guard let stream, stream.isOpen else { return false }
    switch stream.read(with: buffer) {
    case .more: return true
    case .nothing: return false
    case .end:
      close(stream)
      return false
    }
  }

  private func close(_ stream: ChildStream) {
    if stream.isOpen { site.forget(stream.raw) }
    stream.close()
  }

  private func close() {
    if case .success(var known) = ending, let output, output.isOpen {
      known.leavesOpenOutput = true
      ending = .success(known)
    }
    if let output { close(output) }
    close(errors)
  }

  /// The ending, when the process has ended and its pipes are closed; nil before.
  var result: Result<ChildEnding, BatchError>? {
    output?.isOpen == true || errors.isOpen ? nil : ending
  }
}
