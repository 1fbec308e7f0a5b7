extension CommandSpec {
  static let config = CommandSpec(
    id: .config,
    abstract: "Print the values of options that apply, and where each comes from.",
    discussion: [
      """
      Each of these overrides the ones before it: the defaults, /etc/batchproc.conf, \
      $XDG_CONFIG_HOME/batchproc/config (without that variable ~/.config/batchproc/config), environment variables, a \
      profile, the command line. The values of an option replace those from before, also when the option may be \
      given several times.
      """,
      """
      A file has lines of 'key = value', where a key is a long option without its dashes, and the value of an option \
      that takes none is true or false. Lines before the first section are for every command that has the option; \
      a section such as '[compress]' is for one command. A section '[profile NAME]' holds a whole job: the line \
      'command = backup', options of that command, and a line 'operand = PATH' for each operand. 'batchproc \
      --profile NAME' runs it; options on the command line win, and operands take the place of those of the profile. \
      Lines that begin with # or ; are comments. Double quotes around a value are not a part of it.
      """,
      """
      The variable of an option is BATCHPROC_ and its long name in capitals, with _ for -, such as \
      BATCHPROC_MAX_CONCURRENCY. --force and --remove-source may be set in a profile, but neither elsewhere in a \
      file nor in the environment. A key or value that is not valid is an error. A file is refused when it, or the \
      directory that it is in, belongs to another user than root or the one who runs the command, or when others may \
      write to it.
      """,
    ],
    operands: [
      Operand(
        name: "command", repeats: true, help: "The commands to print. The default is all.", isOptional: true
      )
    ],
    own: [
      .profile,
      OptionSpec(.json, "json", help: "Write results as JSON lines.").inPlans(.refused),
    ],
    shared: [Group.general],
    examples: [
      Example(command: "batchproc config hash", meaning: "Print the values that apply to hash."),
      Example(
        command: "batchproc config --profile nightly", meaning: "Print the job of a profile."),
    ])
}

extension OptionSpec {
  static let profile = OptionSpec(
    .profile, "profile", kind: .single(.glob), value: "name",
    help: "Take the job of this name from the configuration: command, options and operands.")
}
