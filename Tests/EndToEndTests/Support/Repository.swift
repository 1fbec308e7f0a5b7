import Foundation

/// The checkout from which these tests were built.
enum Repository {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The script that restores a snapshot by stock tools.
  static let restoreByHand = root.appendingPathComponent("samples/restore-by-hand.sh").path
  /// A set of version 0.2.0.
  static let earlierSet = root.appendingPathComponent("Tests/Golden/0.2.0/set").path
}
