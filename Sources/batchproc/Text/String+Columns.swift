/// Columns of text rows.
extension String {
  /// With blanks behind it.
  func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

  /// With blanks before it.
  func leading(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }

  /// Without the blanks at its end.
  var trimmingSpaces: Substring {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return text
  }
}
