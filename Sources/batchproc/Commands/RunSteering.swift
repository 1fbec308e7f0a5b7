import BatchEngine

/// What changes the concurrency during the run of a command: the load of the machine, and the control file.
struct RunSteering: Sendable {
  private let governor: LoadGovernor?
  private let control: RunControl?

  /// Reports options that have no effect, or none yet.
  init(_ common: CommonOptions, _ context: RunContext, _ diagnostics: Diagnostics) {
    governor = common.maxLoad.map { LoadGovernor.holdBack(context, limit: $0) }
    control = common.control.map { file in
      RunControl(file, of: context) { diagnostics.report($0, as: .warning) }
    }
    if let limit = common.maxLoad, limit.load() == nil {
      diagnostics.report(
        BatchError(.unreadable, "--max-load has no effect: the kernel does not provide this load"),
        as: .warning)
    }
    guard let file = common.control else { return }
    if common.concurrency != nil { context.concurrency.fix(context.concurrency.current) }
    if common.verbose, StandardStreams.identity(of: file) == nil {
      diagnostics.report(
        BatchError(
          .missing, "the file of --control is not there yet; it is looked for during the run", path: file),
        as: .note)
    }
  }

  func start() {
    governor?.start()
    control?.start()
  }
}
