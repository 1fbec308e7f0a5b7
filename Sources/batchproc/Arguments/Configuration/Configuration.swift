import BatchEngine

/// The options in configuration files and environment variables.
struct Configuration: Sendable {
  /// In ascending priority: an option in a later file replaces that of earlier files.
  let files: [ConfigurationFile]

  static let empty = Configuration(files: [])

  /// Reads the existing files.
  ///
  /// - Parameters:
  ///   - system: the file for all users.
  ///   - environment: locates the file of the user: `$XDG_CONFIG_HOME/batchproc/config`, or below `~/.config`.
  /// - Throws: when a file cannot be read, can be written by others, or is not valid.
  static func read(
    system: PathBytes = "/etc/batchproc.conf", environment: Environment,
    trust: TrustedFile = TrustedFile(calls: LinuxCalls()), table: CommandTable = .standard
  ) throws(UsageError) -> Configuration {
    var files: [ConfigurationFile] = []
    if let content = try content(of: system, isPersonal: false, trust) {
      files.append(try ConfigurationFile(content, at: system, table: table))
    }
    if let path = personal(environment), let content = try content(of: path, isPersonal: true, trust) {
      files.append(try ConfigurationFile(content, at: path, table: table))
    }
    return Configuration(files: files)
  }

  /// The profile with a name, from the last file that has one.
  func profile(named name: PathBytes) throws(UsageError) -> ConfigurationFile.Profile {
    let profiles = files.reversed().flatMap(\.profiles)
    if let profile = profiles.first(where: { $0.name.utf8.elementsEqual(name.bytes) }) { return profile }
    let hint = Suggestion.nearest(to: name.bytes, among: profiles.map(\.name)).map {
      ". Did you mean \(quote(PathBytes($0)))?"
    }
    throw UsageError("Unknown profile \(quote(name))\(hint ?? "")", in: nil)
  }

  /// The settings for options that are not on the command line, in order: for each file the general rows and those of the
  /// command, then variables, then the profile.
  ///
  /// - Parameters:
  ///   - isGiven: whether the command line has the option: then its other settings are ignored, and with a place of copies the rules that
  ///     belong to it.
  ///   - environment: the value of a variable; nil when it is not set. An empty variable counts as not set.
  func settings(
    for command: CommandSpec, profile: ConfigurationFile.Profile? = nil,
    environment: Environment, except isGiven: (OptionID) -> Bool = { _ in false }
  ) throws(UsageError) -> [Setting] {
    var settings = Layers()
    let isGivenElsewhere = isGiven
    // Which rules belong to a place is known from the place alone.
    let isGiven: (OptionID) -> Bool = { $0 != .copyTo && isGivenElsewhere($0) }
    for file in files {
      for rows in [file.general, file.commands[command.name] ?? []] {
        settings.put(try self.settings(rows, command, isGiven) { .file($0.place) })
      }
    }
    settings.put(try variables(of: command, environment, isGiven))
    if let profile {
      settings.put(try self.settings(profile.rows, command, isGiven) { .profile(profile.name, $0.place) })
    }
    if isGivenElsewhere(.copyTo) { settings.hide([.copyTo]) }
    return settings.all
  }

  /// Each layer hides the same options in lower layers.
  private struct Layers {
    private(set) var all: [Setting] = []

    mutating func put(_ layer: [Setting]) {
      hide(Set(layer.map(\.option.id)))
      all += layer
    }

    mutating func hide(_ hidden: Set<OptionID>) {
      if hidden.contains(.copyTo) {
        // A rule for the copies in one place could remove those in a place for which it was not meant.
        var place: Setting.Source?
        all.removeAll { setting in
          if setting.option.id == .copyTo { place = setting.source }
          return place?.name == setting.source.name && CopyChoices.isAboutPlace(setting.option)
        }
      }
      all.removeAll { hidden.contains($0.option.id) }
    }
  }

  private func settings(
    _ rows: [ConfigurationFile.Row], _ command: CommandSpec, _ isGiven: (OptionID) -> Bool,
    source: (ConfigurationFile.Row) -> Setting.Source
  ) throws(UsageError) -> [Setting] {
    var settings: [Setting] = []
    for row in rows {
      guard let option = command.settable(row.key), !isGiven(option.spec.id) else { continue }
      if let setting = try row.setting(in: command, source: source(row)) { settings.append(setting) }
    }
    return settings
  }

  private func variables(
    of command: CommandSpec, _ environment: Environment, _ isGiven: (OptionID) -> Bool
  ) throws(UsageError) -> [Setting] {
    var settings: [Setting] = []
    for option in command.settableOptions where !isGiven(option.id) {
      let name = option.variable
      guard !Self.variablesOfHooks.contains(name) else { continue }
      guard let value = environment(name), !value.isEmpty else { continue }
      guard option.mayHoldForEveryRun else {
        throw UsageError(
          "The environment variable '\(name)' is not obeyed: please give '--\(option.long[0])', or use a profile.",
          in: command)
      }
      do throws(ValueSyntax.Mismatch) {
        settings.append(Setting(option: try option.given(value), text: value, source: .variable(name)))
      } catch {
        throw UsageError(
          "The value \(quote(value)) is invalid for the environment variable '\(name)'. \(error.sentence)",
          in: command)
      }
    }
    return settings
  }

  /// Variables that hooks of backups, and commands started by them, receive.
  private static let variablesOfHooks: Set<String> = Set(
    ["HOOK", "SET", "DIR", "STATUS", "OUTCOME", "SNAPSHOT"].map { "BATCHPROC_" + $0 })

  private static func personal(_ environment: Environment) -> PathBytes? {
    userFolder("XDG_CONFIG_HOME", or: ".config", environment)?.appending("batchproc/config".utf8)
  }

  private static func content(
    of path: PathBytes, isPersonal: Bool, _ trust: TrustedFile
  ) throws(UsageError) -> [UInt8]? {
    do throws(BatchError) {
      return try trust.read(path, isPersonal: isPersonal)
    } catch {
      let place = TerminalText.string((error.path ?? path).bytes)
      let reason = error.systemMessage.map { ": \($0)" } ?? ""
      var refusal = UsageError(
        "\(place): \(error.message)\(reason) ('--no-config' reads no configuration)", in: nil)
      if error.systemMessage != nil { refusal.status = .fatal }
      throw refusal
    }
  }
}
