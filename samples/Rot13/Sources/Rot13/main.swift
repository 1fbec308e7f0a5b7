// Writes FILE.rot13 next to each file below the operands, with each letter moved by 13 places. An output gets
// its name when it is complete. Ends with 0; with 3 if files failed, 1 if the run could not begin, and 130 if INT
// has stopped it.
import BatchCore
import BatchEngine
import Dispatch
import Foundation

func rotated(_ byte: UInt8) -> UInt8 {
  switch byte | 0x20 {
  case UInt8(ascii: "a")...UInt8(ascii: "m"): byte + 13
  case UInt8(ascii: "n")...UInt8(ascii: "z"): byte - 13
  default: byte
  }
}

let paths = CommandLine.arguments.dropFirst().map { PathBytes($0) }
let options = Batch.TransformOptions(suffix: ".rot13")
let writing = Task {
  try await Batch.transform(paths, options) { content in content.map(rotated) }
}
let interrupts = DispatchSource.makeSignalSource(signal: SIGINT)
interrupts.setEventHandler { @Sendable in writing.cancel() }
interrupts.resume()

switch await writing.result {
case .success(let report):
  for problem in report.failures {
    print("\(problem.error.path?.description ?? ""): \(problem.error.message)")
  }
  print("\(report.written) files written, \(report.counts.failed) failed")
  exit(report.isCancelled ? 130 : report.counts.failed > 0 ? 3 : 0)
case .failure(let error):
  print("error: \(error)")
  exit(1)
}
