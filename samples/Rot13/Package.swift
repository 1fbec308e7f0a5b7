// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Rot13",
  dependencies: [.package(name: "batchproc", path: "../..")],
  targets: [
    .executableTarget(
      name: "Rot13",
      dependencies: [
        .product(name: "BatchCore", package: "batchproc"),
        .product(name: "BatchEngine", package: "batchproc"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
