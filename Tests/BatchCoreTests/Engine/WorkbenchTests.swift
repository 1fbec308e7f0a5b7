import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct WorkbenchTests {
  private final class Tool {}
  private final class Owner {}

  @Test func makesAToolOnceForEachOwner() {
    let bench = Workbench(calls: LinuxCalls())
    let (first, second) = (Owner(), Owner())
    var made = 0
    func make() throws(Never) -> Tool {
      made += 1
      return Tool()
    }
    let tool = bench.tool(owner: first, make)
    #expect(bench.tool(owner: first, make) === tool)
    #expect(bench.tool(owner: second, make) !== tool)
    #expect(made == 2)
  }

  @Test func keepsNothingWhenMakingFails() throws {
    let bench = Workbench(calls: LinuxCalls())
    let owner = Owner()
    #expect(throws: BatchError.self) {
      try bench.tool(owner: owner) { () throws(BatchError) -> Tool in
        throw BatchError(.exhausted, "no more")
      }
    }
    _ = bench.tool(owner: owner) { () throws(Never) in Tool() }
  }
}
