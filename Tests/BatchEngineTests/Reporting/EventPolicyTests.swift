import Testing

@testable import BatchEngine

@Suite struct EventPolicyTests {
  @Test(arguments: [
    (Problem.Event.vanished, Severity.note), (.changed, .warning), (.unreadable, .failure), (.special, .note),
    (.missing, .failure), (.malformed, .failure),
  ])
  func hasADefaultForEachEvent(event: Problem.Event, severity: Severity) {
    #expect(EventPolicy().severity(of: event) == severity)
    #expect(EventPolicy().retries(after: event) == 0)
  }

  @Test(arguments: [
    (EventPolicy.Action.ok, Severity.note, 0), (.warn, .warning, 0), (.fail, .failure, 0),
    (.retry(3), .failure, 3), (.retry(-1), .failure, 0),
  ])
  func doesWhatIsSetForTheEvent(action: EventPolicy.Action, severity: Severity, retries: Int) {
    var policy = EventPolicy()
    policy[.vanished] = action
    #expect(policy.severity(of: .vanished) == severity)
    #expect(policy.retries(after: .vanished) == retries)
    #expect(policy.severity(of: .changed) == .warning)
  }

  @Test(arguments: [Problem.Event.missing, .malformed])
  func alwaysFailsForMissingAndMalformedInput(event: Problem.Event) {
    var policy = EventPolicy()
    policy[event] = .ok
    #expect(policy.severity(of: event) == .failure)
  }
}
