import BatchCore
import BatchEngine
import Dispatch

/// The parts of one backup: each ends at a checkpoint, with a snapshot that the next part continues, and the last one is complete.
struct BackupLegs {
  private let command: BackupCommand
  private let session: Session
  private let stop = StopRequest()

  init(_ command: BackupCommand) {
    (self.command, session) = (command, command.session)
  }

  func run(_ report: inout BackupHooks.Report) throws(BatchError) -> Ending {
    let sources = try command.sources()
    report.sources = sources
    var options = command.options
    options.stop = stop
    let timer = command.budget.map { BudgetTimer(seconds: $0, stop) }
    defer {
      session.setStop(nil)
      timer?.end()
    }
    var last: BackupCall.Result?
    while true {
      let outcome = try run(sources, options)
      if stop.isMade, !session.cancellation.isCancelled,
        let error = outcome.failure ?? outcome.summary.stopped, error.code == .cancelled
      {
        if let last { return endCut(last) }
        session.fail(error, severity: .warning)
        return session.endingBySignal ?? .exit(.budgetReached)
      }
      if let ending = session.endingOfStopped(outcome.summary, advised: command.advised) { return ending }
      if let failure = outcome.failure { return session.ending(after: command.advised(failure)) }
      guard let result = outcome.result, !outcome.verdict.contains(.nothing) else {
        session.reporter.fatal(BatchError(.unreadable, "no file could be read: no snapshot was made"))
        return .exit(.fatal)
      }
      if options.continues(result), !stop.isMade {
        last = result
        continue
      }
      return result.content.footer.isCut ? endCut(result) : command.finish(result, outcome, &report)
    }
  }

  private func run(
    _ sources: [PathBytes], _ options: BackupOptions
  ) throws(BatchError) -> CallOutcome<BackupCall.Result> {
    let command = command
    let (session, stop) = (session, stop)
    var options = options
    options.ownFiles = session.ownFiles
    var call = BackupCall(to: try command.set(), options)
    call.announce = { backup in
      command.notify(status: "archiving into \(backup.header.name.archive)")
      guard options.earlier.isEmpty else { return }
      for warning in backup.warnings { session.fail(warning, severity: .warning) }
      if let note = backup.note { session.warn(note, as: .note) }
      command.tell(backup.preparation.remarks)
      command.tellSeries(backup.preparation, isPlanned: false)
    }
    call.walking = { session.setStop { stop.make() } }
    call.completing = { content in
      command.notify(status: "completing \(content.header.name.archive)")
      // The snapshot is complete, or what remains is short. What ends at a checkpoint is kept.
      if !content.footer.isCut || content.isStopped { session.setStop(nil) }
    }
    let input = CallInput.paths(Operands(sources), try session.walkOptions(forAllBut: []))
    return try session.run(call, input) { [tally = command.tally] (members) throws(BatchError) in
      tally.add(members)
      try session.tell(members)
    }
  }

  /// The end of a run that was asked to stop.
  private func endCut(_ result: BackupCall.Result) -> Ending {
    let content = result.content
    let reached = content.footer.reached.map { TerminalText.string($0.path.bytes) } ?? ""
    session.fail(
      BatchError(
        .special,
        "the snapshot \(content.header.name.stamp) is not complete: it has the files up to \(reached)",
        remedy: "run again to continue"), severity: .warning)
    return session.endingBySignal ?? .exit(.budgetReached)
  }
}

/// Makes a request when a time has passed.
private struct BudgetTimer {
  private let source: any DispatchSourceTimer

  init(seconds: Int, _ stop: StopRequest) {
    source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "batchproc.budget"))
    source.setEventHandler { stop.make() }
    source.schedule(deadline: .now() + .seconds(seconds))
    source.activate()
  }

  func end() { source.cancel() }
}
