import BatchCore
import BatchEngine

/// The table of how each command is made.
extension CommandID {
  var kind: CommandKind {
    switch self {
    case .hash: CommandKind(HashCommand.self, sharesHeap: false)
    case .check: CommandKind(CheckCommand.self, sharesHeap: false)
    case .compress: CommandKind(CompressCommand.self)
    case .decompress:
      CommandKind(DecompressCommand.self).replaced(by: { $0.flag(.toStdout) }) {
        try CatCommand($0, common: $1, environment: $2)
      }
    case .cat:
      CommandKind { try CatCommand($0, common: $1, environment: $2) }
        .replaced(by: { $0.given.contains { [.identity, .passphraseFile].contains($0.id) } }) {
          try DecryptCommand($0, common: $1, environment: $2)
        }
    case .test: CommandKind(TestCommand.self)
    case .archive: CommandKind(ArchiveCommand.self)
    case .list: CommandKind { try ListCommand($0, common: $1, environment: $2) }
    case .extract: CommandKind { try ExtractCommand($0, common: $1, environment: $2) }
    case .verify: CommandKind { try VerifyCommand($0, common: $1, environment: $2) }
    case .parity: CommandKind { try ParityCommand($0, common: $1, environment: $2) }
    case .repair: CommandKind { try RepairCommand($0, common: $1, environment: $2) }
    case .audit: CommandKind(sharesHeap: false) { try AuditCommand($0, common: $1, environment: $2) }
    case .duplicates:
      CommandKind(sharesHeap: false) { try DuplicatesCommand($0, common: $1, environment: $2) }
    case .backup: CommandKind { try BackupCommand($0, common: $1, environment: $2) }
    case .snapshots: CommandKind { try SnapshotsCommand($0, common: $1, environment: $2) }
    case .restore: CommandKind { try RestoreCommand($0, common: $1, environment: $2) }
    case .prune: CommandKind { try PruneCommand($0, common: $1, environment: $2) }
    case .drill: CommandKind { try DrillCommand($0, common: $1, environment: $2) }
    case .copy: CommandKind { try CopyCommand($0, common: $1, environment: $2) }
    case .report: CommandKind { try ReportCommand($0, common: $1, environment: $2) }
    case .mirror: CommandKind(MirrorCommand.self, sharesHeap: false)
    case .run: CommandKind(RunCommand.self)
    case .keygen: CommandKind { try KeygenCommand($0, common: $1, environment: $2) }
    case .tune: CommandKind { try TuneCommand($0, common: $1, environment: $2) }
    case .schedule: CommandKind(running: { try ScheduleCommand($0, environment: $1).execute() })
    case .plan: CommandKind(running: { try PlanCommand($0, kinds: \.kind, environment: $1).execute() })
    case .merge: CommandKind(running: { try MergeCommand($0, kinds: \.kind, environment: $1).execute() })
    case .submit: CommandKind(running: { try SubmitCommand($0, kinds: \.kind, environment: $1).execute() })
    case .status: CommandKind(running: { (parsed, _) in try StatusCommand(parsed).execute() })
    case .doctor: CommandKind(running: { try DoctorCommand($0, environment: $1).execute() })
    case .config: CommandKind(running: { try ConfigCommand($0, environment: $1).execute() })
    }
  }
}
