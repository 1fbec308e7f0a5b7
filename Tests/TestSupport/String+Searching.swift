import Glibc

extension String {
  /// The same as `contains` for texts without NUL, which is slow without optimization.
  package func has(_ text: some StringProtocol) -> Bool {
    withCString { whole in text.withCString { strstr(whole, $0) != nil } }
  }
}
