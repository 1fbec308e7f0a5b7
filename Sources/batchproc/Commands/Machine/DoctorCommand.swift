import BatchCore
import BatchEngine

struct DoctorCommand {
  private let folder: PathBytes
  private let isJSON: Bool
  private let devices: PathBytes?

  init(_ parsed: ParsedCommand, environment: Environment) {
    folder = parsed.operands.first ?? "."
    isJSON = parsed.flag(.json)
    devices = SavedDevices.path(environment: environment)
  }

  /// - Throws: when standard output cannot be written, and without --json when the directory cannot be examined.
  func execute() throws(BatchError) -> Ending {
    let report = MachineReport.gather(folder, devices: devices, descriptors: DescriptorLimit.current())
    let output = StandardOutput(cancellation: Cancellation(), filter: TerminalText.escapeControls)
    let rows = DoctorRows(report)
    guard isJSON else {
      try output.write(rows.text)
      try output.finish()
      if let error = report.deviceError { throw error }
      return .exit(.success)
    }
    let events = JSONReporter.onStandardOutput()
    try rows.write(to: events)
    if let error = report.deviceError { events.fatal(error) }
    try events.writeSummary(isComplete: report.deviceError == nil) { $0.add(path: folder) }
    try output.finish()
    return .exit(report.deviceError.map { ExitStatus($0) } ?? .success)
  }
}
