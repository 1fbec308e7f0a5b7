extension CommandSpec {
  static let doctor = CommandSpec(
    id: .doctor,
    abstract: "Show what limits a run on this machine, and the resulting defaults.",
    discussion: [
      """
      Every limit that was found is listed with its source, and the one that binds is marked. For the directory, the \
      device behind it and the abilities of its file system are shown; to test these, files without a name are made \
      in it. When the file system does not answer within 5 seconds, a line says so, and the status is 1.
      """
    ],
    operands: [
      Operand(
        name: "dir", repeats: false,
        help: "A directory that runs read or write; the working directory by default.",
        isOptional: true)
    ],
    own: [OptionSpec(.json, "json", help: "Write JSON lines.").inPlans(.refused)],
    shared: [Group.general],
    examples: [
      Example(command: "batchproc doctor /srv", meaning: "Show the limits of runs over /srv."),
      Example(
        command: "batchproc doctor --json | jq 'select(.binds)'",
        meaning: "Print the limits that apply, for programs."),
    ])
}
