import BatchEngine

// In the tests the program is a module; the fuzzer has links to its sources instead.
#if !FUZZING
  @testable import batchproc
#endif

/// A configuration, or arguments that end with NUL. The option tables of the program are read here through
/// links to its sources.
func fuzzCommandLineTexts(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  if start[0].isMultiple(of: 2) {
    guard let file = try? ConfigurationFile(bytes, at: "config") else { return }
    for profile in file.profiles {
      _ = try? Configuration(files: [file]).profile(named: PathBytes(profile.name))
    }
    for command in CommandTable.standard.commands {
      _ = try? Configuration(files: [file]).settings(for: command) { _ in nil }
    }
  } else {
    let arguments = bytes.split(separator: 0).prefix(50).map { PathBytes(Array($0)) }
    _ = try? CommandLineParser { _ in nil }.parse(arguments)
  }
}
