import BatchEngine

extension Remedy {
  /// Text for messages, with the options of this program.
  var text: String {
    switch self {
    case .advice(let text): text
    case .lowerConcurrency: "lower --max-concurrency"
    case .lowerConcurrencyOrMemory: "lower --max-concurrency or --max-memory"
    case .raiseOrLowerDescriptors: "raise `ulimit -n`, or lower --max-open-files"
    case .raiseDescriptors: "raise `ulimit -n` or --max-open-files"
    case .raiseMemory: "see --max-memory"
    case .raiseOutputLimit: "see --max-output"
    case .raiseRatioLimit: "see --max-ratio"
    case .allowHoles: "--max-hole allows more"
    case .raiseLevels: "--max-levels allows more"
    case .replaceOutput: "--force replaces it"
    case .writeToTerminal: "give --force"
    case .replaceUnmarked: "--replace replaces it"
    case .compareWith(let folder): "did you mean --against \(TerminalText.string(folder.bytes))?"
    case .makeParity: "'batchproc parity create --force' makes new recovery data"
    case .nameParityFolder: "give a directory that has all of them by --base"
    case .overwriteFiles: "--force replaces it, --overwrite newer only replaces older files"
    case .keepGoing: "add --keep-going to extract all members that are undamaged"
    case .restoreRest: "leave out --strict to restore all files that are undamaged"
    case .makeDevices: "see --devices"
    case .restorePrivileges: "see --same-permissions"
    case .allowUnsafeLinks: "see --safe-links"
    case .removeOthers: "a run with --delete removes what is in its way"
    case .removeUpTo(let count): "if this is meant, give --max-delete \(count)"
    case .readAllFormats: "--all-formats reads ar, cab, iso, lha and rar"
    case .readStandardInput: "give - to read a stream from standard input"
    case .readListWithNUL: "lists with NUL ends are read by --files0-from"
    case .waitForLock: "give --lock-wait, or run it later"
    case .chooseSet: "choose one by --name"
    case .giveFileOrName: "give the archive as a file, or the name with --escaped"
    case .makeFullSnapshots: "now only the first one is full; give --full-every N for more"
    case .chooseSeries: "choose one by --source PATH, --host NAME or --at ID"
    case .mountOrInitialize: "mount it; or, if a new set is to begin here, give --init this once"
    case .continueSet: "leave out --init"
    case .copyElsewhere:
      "back up to a local directory and copy that, as samples/cron/offsite.sh does; ./NAME is a local directory"
    case .giveIdentity: "give --identity FILE, or --passphrase-file FILE"
    case .givePassphrase: "give --passphrase-file FILE"
    case .restoreOrAcceptRot: "restore it; or, if the bytes are right, give --accept-rot this once"
    case .encryptOrAllowPlain:
      "give --encrypt-to, --encrypt-to-file or --passphrase-file, or --plain if this is meant"
    case .allowPlain: "give --plain if this is meant"
    case .mountOrAllowEmpty: "mount it, or give --allow-empty if this is meant"
    case .pruneSet:
      "remove old snapshots with 'prune', or free some space, and run again; with --prune-first a backup removes first what its rules do not keep"
    case .pruneSetFurther:
      "remove more snapshots with 'prune' and fewer --keep options, or free some space, and run again"
    case .pruneUnlisted: "'prune --unlisted' removes it"
    case .mountOrAllowOtherFileSystem:
      "mount it, or give --allow-other-file-system this once if this is meant"
    }
  }
}
