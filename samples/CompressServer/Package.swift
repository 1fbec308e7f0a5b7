// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "CompressServer",
  dependencies: [.package(name: "batchproc", path: "../..")],
  targets: [
    .executableTarget(
      name: "CompressServer",
      dependencies: [
        .product(name: "BatchCore", package: "batchproc"),
        .product(name: "BatchEngine", package: "batchproc"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
