import Testing

@testable import BatchEngine

@Suite struct ProblemTests {
  @Test(arguments: [
    (BatchError.Code.vanished, Problem.Event.vanished), (.changed, .changed), (.special, .special),
    (.missing, .missing), (.unreadable, .unreadable), (.exhausted, .unreadable), (.invalid, .unreadable),
  ])
  func belongsToTheClassOfItsError(code: BatchError.Code, event: Problem.Event) {
    let problem = Problem(BatchError(code, "text", path: "a"))
    #expect(problem.event == event)
    #expect(problem.error.path == "a")
  }
}
