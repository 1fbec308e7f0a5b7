// Compresses several trees at once on request. Each line of standard input is a request:
//
//   compress NAME PATH...   begins a job with this name
//   cancel NAME             ends the job; complete outputs are kept
//
// Each line of standard output is an event: the progress or the result of a job, or a refused request. At the end
// of the input the program waits for its jobs; at INT it cancels them and waits until they have ended. The
// optional operand limits how many bytes each job reads per second.
import BatchCore
import BatchEngine
import Dispatch
import Foundation

enum Event: Sendable {
  case request(String)
  case endOfRequests
  case interrupt
  case ended(String)
}

/// Writes one line in one call, so that lines of different tasks do not mix.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func show(_ progress: Batch.Progress, of name: String) async {
  for await state in progress {
    say("progress \(name) \(state.files)/\(state.totalFiles.map(String.init) ?? "?") \(state.bytes)")
  }
}

func compress(_ name: String, _ paths: [PathBytes]) async {
  let progress = Batch.Progress()
  async let shown: Void = show(progress, of: name)
  var options = Batch.CompressOptions()
  options.format = .zst
  // Several jobs share the descriptors of the process.
  options.settings.openFiles = 64
  options.settings.bytesPerSecond = CommandLine.arguments.dropFirst().first.flatMap { Int64($0) }
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
  } catch {
    await shown
    say("error \(name) \(error.message)")
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

var jobs: [String: Task<Void, Never>] = [:]
var isEnding = false
for await event in events {
  switch event {
  case .request(let line):
    let words = line.split(separator: " ").map(String.init)
    switch (words.first, words.count) {
    case ("compress", 3...) where jobs[words[1]] == nil && !isEnding:
      let (name, paths) = (words[1], words[2...].map { PathBytes($0) })
      jobs[name] = Task {
        await compress(name, paths)
        source.yield(.ended(name))
      }
    case ("cancel", 2) where jobs[words[1]] != nil: jobs[words[1]]?.cancel()
    default: say("refused \(line)")
    }
  case .ended(let name): jobs[name] = nil
  case .endOfRequests: isEnding = true
  case .interrupt:
    isEnding = true
    for job in jobs.values { job.cancel() }
  }
  if isEnding, jobs.isEmpty { break }
}
say("bye")
