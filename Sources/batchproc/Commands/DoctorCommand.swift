import BatchCore
import BatchEngine

/// `batchproc doctor`.
struct DoctorCommand {
  private let folder: PathBytes
  private let isJSON: Bool
  private let devices: PathBytes?

  init(_ parsed: ParsedCommand, environment: (String) -> PathBytes?) {
    folder = parsed.operands.first ?? "."
    isJSON = parsed.flag(.json)
    devices = SavedDevices.path(environment: environment)
  }

  /// - Throws: when standard output cannot be written, or the directory cannot be looked at.
  func obey() throws(BatchError) -> Ending {
    let report = MachineReport.gather(folder, devices: devices, descriptors: DescriptorLimit.current())
    let output = StandardOutput(cancellation: Cancellation(), filter: TerminalText.defuse)
    let rows = DoctorRows(report, folder: folder)
    try output.write(isJSON ? rows.json : rows.text)
    try output.finish()
    if let error = report.deviceError { throw error }
    return .exit(.success)
  }
}
