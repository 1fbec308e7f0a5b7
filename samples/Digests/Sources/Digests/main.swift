// Prints the SHA-256 of each file below the operands in the order of the tree, while further files are hashed.
// Ends with 0; with 3 if files failed, 1 if the run could not begin, and 130 if INT has stopped it.
import BatchCore
import Dispatch
import Foundation

let paths = Array(CommandLine.arguments.dropFirst())
let reading = Task {
  let files = Batch.Results { try await Batch.hash(paths, each: $0) }
  for try await file in files { print(file.digests.first?.hex ?? "", "", file.path) }
  return try await files.report()
}
let interrupts = DispatchSource.makeSignalSource(signal: SIGINT)
interrupts.setEventHandler { @Sendable in reading.cancel() }
interrupts.resume()
switch await reading.result {
case .success(let report):
  for problem in report.failures {
    print("failed:", problem.error.path?.description ?? "", problem.error.message)
  }
  exit(report.isCancelled ? 130 : report.counts.failed > 0 ? 3 : 0)
case .failure(let error):
  print("error:", error)
  exit(1)
}
