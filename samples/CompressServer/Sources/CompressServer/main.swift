// Compresses several trees at once on request. Each line of standard input is a request:
//
//   compress NAME PATH...   begins a job with this name
//   pause NAME              holds the job back
//   resume NAME             lets it go on
//   limit NAME BYTES        limits how many bytes the job reads per second; 0 for no limit
//   cancel NAME             ends the job; complete outputs are kept
//
// Each line of standard output is an event: the progress or the result of a job, or a refused request. At the end
// of the input the program waits for its jobs; at INT it cancels them and waits until they have ended. Ends with
// 0; with 1 if a job could not run, and 130 after INT. The optional operand limits how many bytes each job reads per
// second.
import BatchCore
import BatchEngine
import Dispatch
import Foundation

enum Event: Sendable {
  case request(String)
  case endOfRequests
  case interrupt
  case ended(String, hasRun: Bool)
}

/// Writes one line in one call, so that lines of different tasks do not mix.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func show(_ progress: Batch.Progress, of name: String) async {
  for await state in progress {
    say("progress \(name) \(state.files)/\(state.totalFiles.map(String.init) ?? "?") \(state.bytes)")
  }
}

/// - Returns: whether the job could run.
func compress(_ name: String, _ paths: [PathBytes], _ control: Batch.Control) async -> Bool {
  let progress = Batch.Progress()
  async let shown: Void = show(progress, of: name)
  var options = Batch.CompressOptions()
  options.format = .zst
  // Several jobs share the descriptors of the process.
  options.settings.openFiles = 64
  options.settings.bytesPerSecond = CommandLine.arguments.dropFirst().first.flatMap { Int64($0) }
  options.settings.control = control
  do throws(BatchError) {
    let report = try await Batch.compress(paths, options, progress: progress)
    await shown
    for problem in report.failures {
      say("failed \(name) \(problem.error.path?.description ?? "-"): \(problem.error.message)")
    }
    let end = report.isCancelled ? "cancelled" : "done"
    say(
      "\(end) \(name) \(report.written) written, \(report.counts.failed) failed, "
        + "\(report.bytesRead) -> \(report.bytesWritten) bytes")
    return true
  } catch {
    await shown
    say("error \(name) \(error.message)")
    return false
  }
}

let (events, source) = AsyncStream.makeStream(of: Event.self)
// A separate thread waits for lines, so that no thread of the tasks is blocked.
Thread.detachNewThread {
  while let line = readLine() { source.yield(.request(line)) }
  source.yield(.endOfRequests)
}
let interrupts = DispatchSource.makeSignalSource(signal: SIGINT, queue: DispatchQueue(label: "interrupts"))
interrupts.setEventHandler { @Sendable in source.yield(.interrupt) }
interrupts.resume()
say("ready")

var jobs: [String: (task: Task<Void, Never>, control: Batch.Control)] = [:]
var isEnding = false
var status: Int32 = 0
for await event in events {
  switch event {
  case .request(let line):
    let words = line.split(separator: " ").map(String.init)
    switch (words.first, words.count) {
    case ("compress", 3...) where jobs[words[1]] == nil && !isEnding:
      let (name, paths) = (words[1], words[2...].map { PathBytes($0) })
      let control = Batch.Control()
      let task = Task {
        let hasRun = await compress(name, paths, control)
        source.yield(.ended(name, hasRun: hasRun))
      }
      jobs[name] = (task, control)
    case ("pause", 2) where jobs[words[1]] != nil: jobs[words[1]]?.control.pause()
    case ("resume", 2) where jobs[words[1]] != nil: jobs[words[1]]?.control.resume()
    case ("limit", 3) where jobs[words[1]] != nil && Int64(words[2]) != nil:
      let limit = Int64(words[2]) ?? 0
      jobs[words[1]]?.control.setRate(bytesPerSecond: limit > 0 ? limit : nil)
    case ("cancel", 2) where jobs[words[1]] != nil: jobs[words[1]]?.task.cancel()
    default: say("refused \(line)")
    }
  case .ended(let name, let hasRun):
    jobs[name] = nil
    if !hasRun { status = max(status, 1) }
  case .endOfRequests: isEnding = true
  case .interrupt:
    (isEnding, status) = (true, 130)
    for job in jobs.values { job.task.cancel() }
  }
  if isEnding, jobs.isEmpty { break }
}
say("bye")
exit(status)
