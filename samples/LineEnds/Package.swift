// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "LineEnds",
  dependencies: [.package(name: "batchproc", path: "../..")],
  targets: [
    .executableTarget(
      name: "LineEnds",
      dependencies: [
        .product(name: "BatchEngine", package: "batchproc"),
        .product(name: "BatchOutputs", package: "batchproc"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
