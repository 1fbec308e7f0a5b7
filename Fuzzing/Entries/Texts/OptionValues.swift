import BatchEngine

@testable import BatchCore

// In the tests the program is a module; the fuzzer has links to its sources instead.
#if !FUZZING
  @testable import batchproc
#endif

private let syntaxes: [ValueSyntax] = [
  .count(allowsAuto: true), .threads, .whole, .number(1...22), .size(minimum: 1), .load, .time, .duration,
  .age,
  .clock, .span, .share, .index, .policy, .choice(["auto", "never"], aliases: [.init("no", "never")]), .glob,
]

/// The value of an option in each syntax: it must be within its limits, and give the same value when it is
/// formatted as an argument.
func fuzzOptionValues(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  let syntax = syntaxes[Int(start[0]) % syntaxes.count]
  guard let value = try? syntax.parse(PathBytes(bytes)) else { return }
  switch (syntax, value) {
  case (.size, .size(let size)): precondition(size >= 1, "a size below the smallest")
  case (.duration, .duration(let seconds)): precondition(seconds >= 0, "a duration below zero")
  case (.number(let range), .count(let number)):
    precondition(number.map(range.contains) ?? false, "a number that is out of its range")
  case (.clock, .clock(let minutes)): precondition((0..<1440).contains(minutes), "no time of the day")
  case (.share, .percent(let percent)):
    precondition(percent > 0 && percent <= 100, "no share")
  default: break
  }
  precondition((try? syntax.parse(value.argument)) == value, "another value of \(syntax)")
}
