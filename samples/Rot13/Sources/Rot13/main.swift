// Writes FILE.rot13 next to each file below the operands, with each letter moved by 13 places. An output gets
// its name when it is complete.
import BatchCore
import BatchEngine

func rotated(_ byte: UInt8) -> UInt8 {
  switch byte | 0x20 {
  case UInt8(ascii: "a")...UInt8(ascii: "m"): byte + 13
  case UInt8(ascii: "n")...UInt8(ascii: "z"): byte - 13
  default: byte
  }
}

let paths = CommandLine.arguments.dropFirst().map { PathBytes($0) }
let options = Batch.TransformOptions(suffix: ".rot13")
let report = try await Batch.transform(paths, options) { content in content.map(rotated) }
for problem in report.failures {
  print("\(problem.error.path?.description ?? ""): \(problem.error.message)")
}
print("\(report.written) files written, \(report.counts.failed) failed")
