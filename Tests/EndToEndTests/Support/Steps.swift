import TestSupport
import Testing

/// Scripts of many steps: each step prints its name with its result, so that a failing test says which one it was.
enum Steps {
  /// Functions for the start of a script. They print to the output of the script, also if the output of the step is redirected.
  static let functions = #"""
    exec 3>&1
    # ends NAME COMMAND...: runs a command, and prints its status.
    ends() { local name=$1; shift; "$@"; echo "$name: $?" >&3; }
    # counts NAME PATTERN: prints how many lines of the input match.
    counts() { echo "$1: $(grep -c -e "$2")" >&3; }
    # says NAME: prints the lines of the input, joined by blanks.
    says() { echo "$1: $(paste -sd ' ')" >&3; }
    """# + "\n" + plain

  /// A function that decompresses backup manifests in place; the program reads these too.
  static let plain = #"""
    # plain MANIFEST...: decompresses backup manifests in place.
    plain() { local file; for file; do zstdcat "$file" >plain.tmp && cat plain.tmp >"$file" && rm plain.tmp; done; }
    """#
}

extension Outcome {
  /// Compares the steps of a script with the expected names and results.
  func expectSteps(
    _ expected: KeyValuePairs<String, String>, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let found = text.split(separator: "\n").map(String.init)
    for (index, step) in expected.enumerated() {
      #expect(
        (index < found.count ? found[index] : "") == "\(step.key): \(step.value)", "\(errorText)",
        sourceLocation: sourceLocation)
    }
    #expect(found.count == expected.count, "\(text)\(errorText)", sourceLocation: sourceLocation)
  }
}
