// swift-tools-version: 6.2
import PackageDescription

// Programs of libFuzzer, one for each kind of bytes from outside. `make fuzz` builds and runs them with the flags that they need;
// see CONTRIBUTING.md. They are a package of their own, so that no other build makes programs without a main function.

let settings: [SwiftSetting] = [.unsafeFlags(["-parse-as-library"])]
let library: [Target.Dependency] = [
  .product(name: "BatchCore", package: "batchproc"), .product(name: "BatchEngine", package: "batchproc"),
]

let package = Package(
  name: "fuzzing",
  dependencies: [.package(name: "batchproc", path: "..")],
  targets: [
    .executableTarget(name: "SnapshotManifest", dependencies: library, swiftSettings: settings),
    .executableTarget(name: "ArchiveIndex", dependencies: library, swiftSettings: settings),
    .executableTarget(name: "ArchiveEnds", dependencies: library, swiftSettings: settings),
    .executableTarget(name: "EncryptedFile", dependencies: library, swiftSettings: settings),
    .executableTarget(name: "GzipBlocks", dependencies: library, swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
