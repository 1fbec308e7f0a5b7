/// Values of `--progress`.
enum ProgressMode: String, Sendable, CaseIterable {
  case auto, bar, plain, none
}

/// Values of `--color`.
enum ColorMode: String, Sendable, CaseIterable {
  case auto, always, never
}

/// Values of `--qos`.
enum QoSLevel: String, Sendable, CaseIterable {
  case background, utility, `default`
}
