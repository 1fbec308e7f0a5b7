// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "batchproc",
  products: [
    .library(name: "BatchEngine", targets: ["BatchEngine"]),
    .library(name: "BatchOutputs", targets: ["BatchOutputs"]),
    .library(name: "BatchCore", targets: ["BatchCore"]),
    .executable(name: "batchproc", targets: ["batchproc"]),
  ],
  targets: [
    .target(name: "CLinux"),
    .target(name: "CMD5"),
    .target(name: "CSHA256"),
    // Only the program links these. All but CBuild replace functions of the C library and tables of Foundation.
    .target(name: "CBuild"),
    .target(name: "CGlibcFloor"),
    .target(name: "CInheritedPriority"),
    .target(name: "CNoUnicodeTables"),
    .systemLibrary(name: "CArchive", providers: [.apt(["libarchive-dev"])]),
    .systemLibrary(name: "CBlake3", pkgConfig: "blake3"),
    .systemLibrary(name: "CBZip2", providers: [.apt(["libbz2-dev"])]),
    .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CDeflate", providers: [.apt(["libdeflate-dev"])]),
    .systemLibrary(name: "CGFComplete", providers: [.apt(["libgf-complete-dev"])]),
    .systemLibrary(name: "CIPSecMB", providers: [.apt(["libipsec-mb-dev"])]),
    .systemLibrary(name: "CIsal", providers: [.apt(["libisal-dev"])]),
    .systemLibrary(name: "CLZ4", providers: [.apt(["liblz4-dev"])]),
    .systemLibrary(name: "CLZMA", providers: [.apt(["liblzma-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CXXHash", providers: [.apt(["libxxhash-dev"])]),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"])]),
    .target(
      name: "BatchEngine", dependencies: ["CLinux"], exclude: ["Engine/README.md", "FileSystem/README.md"],
      swiftSettings: settings),
    .target(
      name: "BatchOutputs", dependencies: ["BatchEngine"], exclude: ["README.md"], swiftSettings: settings),
    .target(
      name: "BatchCore",
      dependencies: [
        "BatchEngine", "BatchOutputs", "CLinux", "CArchive", "CBlake3", "CBZip2", "CCrypto", "CDeflate",
        "CGFComplete",
        "CIPSecMB", "CIsal", "CLZ4",
        "CLZMA", "CMD5", "CSHA256", "CSQLite", "CXXHash", "CZlib", "CZstd",
      ],
      exclude: [
        "Archiving/README.md", "Backup/README.md", "Cluster/README.md", "Compression/README.md",
        "Hashing/README.md",
      ],
      swiftSettings: settings
    ),
    .executableTarget(
      name: "batchproc",
      dependencies: [
        "BatchCore", "BatchEngine", "BatchOutputs", "CBuild", "CGlibcFloor", "CInheritedPriority",
        "CNoUnicodeTables",
      ],
      swiftSettings: settings),
    .systemLibrary(name: "CSpawn", path: "Tests/CSpawn"),
    .target(
      name: "TestSupport", dependencies: ["BatchEngine", "BatchOutputs", "CLinux", "CSpawn"],
      path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "BatchEngineTests", dependencies: ["BatchEngine", "CLinux", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "BatchOutputsTests", dependencies: ["BatchOutputs", "BatchEngine", "CLinux", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "BatchCoreTests",
      dependencies: ["BatchCore", "BatchEngine", "BatchOutputs", "CArchive", "CZlib", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "BatchprocTests", dependencies: ["batchproc", "BatchEngine", "BatchOutputs", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "CorpusTests",
      dependencies: [
        "BatchCore", "batchproc", "BatchEngine", "CArchive", "CBZip2", "CLZ4", "CLZMA", "CZlib", "CZstd",
        "TestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "EndToEndTests",
      dependencies: ["BatchCore", "BatchEngine", "BatchOutputs", "batchproc", "TestSupport"],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

// A libFuzzer program, which `make fuzz` builds with the necessary flags. Other builds must not include it,
// since it has no main function. The sources that parse the program's arguments are in no library, so a link
// gives access to them.
if Context.environment["BATCHPROC_FUZZING"] != nil {
  package.targets.append(
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "BatchCore", "BatchEngine", "BatchOutputs", "CArchive", "CBuild", "CBZip2", "CLZ4", "CLZMA", "CZlib",
        "CZstd",
      ],
      path: "Fuzzing",
      exclude: ["CommandLine/main.swift"],
      swiftSettings: settings + [.define("FUZZING"), .unsafeFlags(["-parse-as-library"])]))
}
