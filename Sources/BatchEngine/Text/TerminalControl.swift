/// Characters that a terminal may execute instead of showing, or that break or reorder a line.
package enum TerminalControl {
  /// C0, DEL, C1, the bidirectional controls of Unicode (UAX #9), and the line and paragraph separators.
  package static func contains(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1f, 0x7f...0x9f, 0x061c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
    default: false
    }
  }
}
