import BatchCore
import BatchEngine

/// The place from which snapshots are read: a directory, or a remote, of which only the needed parts are fetched.
struct SetSource {
  let set: BackupSet
  private let remote: RemoteSet?
  private let lock: SetLock?
  private let run: RunContext

  init(_ choices: BackupChoices, state: StatePlace? = nil, locks: Bool, _ session: Session) throws(BatchError)
  {
    run = session.context
    guard BackupTarget.isRemote(choices.directory) else {
      set = try choices.set(session, state: state)
      remote = nil
      lock = locks ? try set.lockForReading(choices.patience, in: run) : nil
      return
    }
    let found = try RemoteSet(
      Remotes.remote(
        choices.directory, isSynced: session.common.fsync, temporary: session.temporary, in: run),
      named: choices.name,
      keys: session.keys(choices.keys), temporary: session.temporary, in: run)
    remote = found
    set = found.set
    lock = nil
  }

  /// The named set, or all sets of a local directory.
  static func all(
    _ choices: BackupChoices, state: StatePlace?, _ session: Session
  ) throws(BatchError) -> [SetSource] {
    guard choices.name == nil, !BackupTarget.isRemote(choices.directory) else {
      return [try SetSource(choices, state: state, locks: false, session)]
    }
    let names = try BackupSet.names(in: choices.directory, calls: session.context.calls)
    guard names.count > 1 else { return [try SetSource(choices, state: state, locks: false, session)] }
    return try names.map { (name) throws(BatchError) in
      var choices = choices
      choices.name = name
      return try SetSource(choices, state: state, locks: false, session)
    }
  }

  func content() throws(BatchError) -> BackupSet.Content {
    if let remote { try remote.content() } else { try set.content(in: run) }
  }
}
