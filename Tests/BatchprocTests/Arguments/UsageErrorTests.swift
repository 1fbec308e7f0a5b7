import Testing

@testable import batchproc

@Suite struct UsageErrorTests {
  @Test func pointsToTheHelpOfTheCommand() {
    #expect(
      UsageError("Unknown option '--foo'", in: .hash).text([]) == """
        batchproc: unknown option '--foo'
        Usage: batchproc hash [<options>] <path> ...
          See 'batchproc hash --help' for more information.

        """)
  }

  @Test func pointsToTheOverviewWithoutACommand() {
    #expect(
      UsageError("Unknown command 'x'", in: nil).text([]) == """
        batchproc: unknown command 'x'
        Usage: batchproc <subcommand>
          See 'batchproc --help' for more information.

        """)
  }
}
