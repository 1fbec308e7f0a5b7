// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Digests",
  dependencies: [.package(name: "batchproc", path: "../..")],
  targets: [
    .executableTarget(name: "Digests", dependencies: [.product(name: "BatchCore", package: "batchproc")])
  ],
  swiftLanguageModes: [.v6]
)
