// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "LineCount",
  dependencies: [.package(name: "batchproc", path: "../..")],
  targets: [
    .executableTarget(
      name: "LineCount", dependencies: [.product(name: "BatchEngine", package: "batchproc")])
  ],
  swiftLanguageModes: [.v6]
)
