/// Values of `--progress`.
enum ProgressMode: String, Sendable, CaseIterable {
  case auto, bar, plain, none
}

/// Values of `--color`.
enum ColorMode: String, Sendable, CaseIterable {
  case auto, always, never
}
