// swift-tools-version: 6.2
import PackageDescription

// Hot code is optimised in debug builds too, so that `swift test` runs the networks at release speed.
let optimised: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

// The fast kernels are one folder of sources, compiled once per instruction set (the other folders are links to it).
#if arch(x86_64)
  let fastVariants: [(name: String, folder: String, flags: [String], defines: [String])] = [
    ("KernelsFastBaseline", "Fast", [], ["BASELINE"]),
    ("KernelsFastV3", "FastV3", ["-march=x86-64-v3"], ["V3"]),
    ("KernelsFastV4", "FastV4", ["-march=x86-64-v4"], ["V4"]),
    ("KernelsFastV4BF16", "FastV4BF16", ["-march=x86-64-v4", "-mavx512bf16", "-mavx512vnni"], ["V4", "V4BF16"]),
  ]
#else
  let fastVariants: [(name: String, folder: String, flags: [String], defines: [String])] = [
    ("KernelsFastBaseline", "Fast", [], ["BASELINE"])
  ]
#endif

let fastTargets: [Target] = fastVariants.map { variant in
  // Whole-module, so that the vector helpers are inlined across files in debug builds too (the threads keep one object a file).
  var settings: [SwiftSetting] = [
    .unsafeFlags(["-O", "-wmo", "-num-threads", "2"], .when(configuration: .debug))
  ]
  settings += variant.defines.map { .define("GENBENCH_ISA_\($0)") }
  if !variant.flags.isEmpty { settings.append(.unsafeFlags(variant.flags.flatMap { ["-Xcc", $0] })) }
  return .target(
    name: variant.name, dependencies: ["KernelContract", "Tensors", "CPUFeatures"],
    path: "Sources/Kernels/\(variant.folder)", swiftSettings: settings,
    linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))])
}

let package = Package(
  name: "genbench",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .executable(name: "genbench", targets: ["genbench"]),
    .library(name: "GenBackend", targets: ["GenBackend"]),
    .library(name: "ReferenceEngine", targets: ["ReferenceEngine"]),
    .library(name: "ModelRegistry", targets: ["ModelRegistry"]),
    .library(name: "RunAnywhere", targets: ["RunAnywhere"]),
    .library(name: "Tensors", targets: ["Tensors"]),
    .library(name: "Imaging", targets: ["Imaging"]),
    .library(name: "PlaygroundKit", targets: ["PlaygroundKit"]),
    .library(name: "TSAIKit", targets: ["TSAIKit"]),
    .library(name: "Conformance", targets: ["Conformance"]),
    .library(name: "ConformanceDoubles", targets: ["ConformanceDoubles"]),
  ],
  targets: [
    // C libraries and shims.
    .systemLibrary(
      name: "CPNG", path: "Sources/CPNG", pkgConfig: "libpng",
      providers: [.apt(["libpng-dev"]), .brew(["libpng"])]),
    .systemLibrary(
      name: "CTurboJPEG", path: "Sources/CTurboJPEG", pkgConfig: "libturbojpeg",
      providers: [.apt(["libturbojpeg0-dev"]), .brew(["jpeg-turbo"])]),
    .systemLibrary(
      name: "CArchive", path: "Sources/CArchive", pkgConfig: "libarchive",
      providers: [.apt(["libarchive-dev"]), .brew(["libarchive"])]),
    .systemLibrary(
      name: "CSQLite", path: "Sources/CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .target(name: "CPUFeatures", path: "Sources/CPUFeatures"),
    .target(name: "CProcessGroup", path: "Sources/CProcessGroup"),

    // Values and files.
    .target(name: "JSON", swiftSettings: optimised),
    .target(
      name: "Tensors", dependencies: ["CPUFeatures"], swiftSettings: optimised,
      linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
    .target(name: "InputFiles"),
    .target(name: "Imaging", dependencies: ["InputFiles", "Tensors", "CPNG", "CTurboJPEG"], swiftSettings: optimised),
    .target(
      name: "Checkpoints", dependencies: ["InputFiles", "JSON", "Schedulers", "Tensors"], exclude: ["README.md"],
      swiftSettings: optimised),
    .target(name: "Goldens", dependencies: ["GenBackend", "Checkpoints", "Tensors"]),
    .target(name: "Tokenizers", dependencies: ["JSON"], swiftSettings: optimised),
    .target(name: "Schedulers", dependencies: ["JSON", "Tensors"], swiftSettings: optimised),

    // Operators.
    .target(name: "KernelContract", dependencies: ["Tensors"], path: "Sources/Kernels/Contract", swiftSettings: optimised),
    .target(
      name: "KernelsReference", dependencies: ["KernelContract", "Tensors"], path: "Sources/Kernels/Reference",
      swiftSettings: optimised, linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
    .target(
      name: "Kernels",
      dependencies: ["KernelContract", "KernelsReference", "Tensors", "CPUFeatures"]
        + fastVariants.map { .init(stringLiteral: $0.name) },
      path: "Sources/Kernels/Dispatch"),

    // Networks and pipelines.
    .target(
      name: "DiffusionModels", dependencies: ["KernelContract", "Tensors", "Checkpoints", "Imaging"], swiftSettings: optimised),
    .target(
      name: "VisionLanguageModels",
      dependencies: ["KernelContract", "Kernels", "Tensors", "Checkpoints", "Tokenizers", "Imaging"], swiftSettings: optimised),
    .target(name: "GenBackend", dependencies: ["Schedulers", "Tensors"]),
    // Engines in other processes and on servers, and this one for others.
    .target(name: "BackendProtocol", dependencies: ["JSON", "GenBackend", "Checkpoints", "Tensors"]),
    .target(
      name: "ExternalBackends",
      dependencies: ["BackendProtocol", "CProcessGroup", "GenBackend", "Checkpoints", "Imaging", "Tensors"]),
    .target(name: "Serving", dependencies: ["BackendProtocol", "GenBackend", "Checkpoints", "Tensors"]),
    .target(
      name: "ReferenceEngine",
      dependencies: [
        "GenBackend", "Schedulers", "Tokenizers", "DiffusionModels", "VisionLanguageModels", "Kernels", "KernelContract",
        "Checkpoints", "Imaging",
        "Tensors",
      ], swiftSettings: optimised),

    // Models that arrive and stay.
    .target(name: "ModelRegistry", dependencies: ["Checkpoints", "CArchive"], swiftSettings: optimised),

    // The API surfaces of the mission, over any backend.
    .target(name: "RunAnywhere", dependencies: ["GenBackend", "ModelRegistry", "Imaging", "Tensors"]),
    .target(name: "TSAIKit", dependencies: ["GenBackend", "Imaging", "Tensors"]),
    .target(name: "PlaygroundKit", dependencies: ["GenBackend", "Imaging", "Tensors"], swiftSettings: optimised),

    // The parts of the engine in the box, one by one, for goldens of operators, blocks and samplers.
    .target(
      name: "ReferenceNumerics",
      dependencies: [
        "Goldens", "Schedulers", "DiffusionModels", "KernelContract", "Checkpoints", "Imaging", "GenBackend", "Tensors",
      ], swiftSettings: optimised),

    // Text in other formats.
    .target(name: "Markup"),

    // Judging: the framework, the APIs and their checks; adapters of the surfaces above; test doubles; faulty implementations.
    .target(
      name: "Conformance", dependencies: ["GenBackend", "Goldens", "Markup", "Checkpoints", "Imaging", "Tensors"],
      swiftSettings: optimised),
    .target(
      name: "ConformanceAdapters",
      dependencies: ["Conformance", "RunAnywhere", "ModelRegistry", "PlaygroundKit", "TSAIKit", "GenBackend", "Tensors"]),
    .target(
      name: "ConformanceDoubles", dependencies: ["Conformance", "GenBackend", "Imaging", "Tensors"], swiftSettings: optimised),
    .target(
      name: "ConformanceSelfTest",
      dependencies: ["Conformance", "ConformanceDoubles", "Markup", "GenBackend", "Imaging", "Tensors"], swiftSettings: optimised),

    // Measuring and telling.
    .target(name: "Measurement", dependencies: ["GenBackend", "Tensors"], swiftSettings: optimised),
    .target(
      name: "Reporting", dependencies: ["Measurement", "Markup", "GenBackend", "Checkpoints", "Tensors", "CSQLite"]),
    .target(
      name: "Running",
      dependencies: [
        "GenBackend", "Measurement", "Reporting", "Goldens", "Schedulers", "KernelContract", "Checkpoints", "Imaging",
        "InputFiles", "Tensors",
      ]),
    .target(
      name: "GenbenchCLI",
      dependencies: [
        "JSON", "Running", "ReferenceEngine", "GenBackend", "RunAnywhere", "ModelRegistry", "PlaygroundKit", "TSAIKit",
        "Conformance",
        "ConformanceAdapters", "ConformanceDoubles", "ConformanceSelfTest", "Measurement", "Reporting", "Markup", "Goldens",
        "ReferenceNumerics", "InputFiles", "Tokenizers", "Schedulers", "Checkpoints",
        "DiffusionModels", "VisionLanguageModels", "Kernels", "KernelContract", "Imaging", "Tensors", "CPUFeatures",
        "ExternalBackends", "Serving",
      ]),
    .executableTarget(name: "genbench", dependencies: ["GenbenchCLI"]),
    // The worked example, which is a package of its own too; there its name is greeting-cards.
    .executableTarget(
      name: "GreetingCardsExample", dependencies: ["PlaygroundKit", "ReferenceEngine", "GenBackend", "Imaging", "Tensors"],
      path: "docs/greeting-cards/Sources/greeting-cards"),

    // Tests.
    .target(name: "TestSupport", dependencies: ["Tensors", "Goldens", "Checkpoints"], path: "Tests/TestSupport"),
    .testTarget(name: "InputFilesTests", dependencies: ["InputFiles"]),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"]),
    .testTarget(name: "TensorsTests", dependencies: ["Tensors", "TestSupport", "Goldens"]),
    .testTarget(name: "ImagingTests", dependencies: ["Imaging", "TestSupport", "Goldens", "Tensors"]),
    .testTarget(name: "CheckpointsTests", dependencies: ["Checkpoints", "Tensors", "TestSupport", "Goldens"]),
    .testTarget(name: "TokenizersTests", dependencies: ["Tokenizers", "TestSupport", "Goldens"]),
    .testTarget(name: "SchedulersTests", dependencies: ["JSON", "Schedulers", "Tensors", "TestSupport", "Goldens"]),
    .testTarget(
      name: "KernelsTests",
      dependencies: [
        "Kernels", "KernelContract", "KernelsReference", "ReferenceNumerics", "Tensors", "Checkpoints", "TestSupport", "Goldens",
      ]
        + fastVariants.map { .init(stringLiteral: $0.name) }),
    .testTarget(
      name: "DiffusionModelsTests",
      dependencies: [
        "DiffusionModels", "Kernels", "KernelContract", "Checkpoints", "Tensors", "Imaging", "TestSupport", "Goldens",
      ]),
    .testTarget(
      name: "VisionLanguageModelsTests",
      dependencies: [
        "VisionLanguageModels", "Kernels", "KernelContract", "Checkpoints", "Tokenizers", "Tensors", "Imaging", "TestSupport",
        "Goldens",
      ]),
    .testTarget(
      name: "ReferenceEngineTests",
      dependencies: [
        "ReferenceEngine", "GenBackend", "DiffusionModels", "Kernels", "KernelContract", "Checkpoints", "Tensors", "Imaging",
        "Schedulers",
        "Tokenizers", "TestSupport", "Goldens",
      ]),
    .testTarget(
      name: "ModelRegistryTests",
      dependencies: ["ModelRegistry", "CArchive", "Checkpoints", "Conformance", "ConformanceDoubles", "TestSupport"]),
    .testTarget(
      name: "RunAnywhereTests",
      dependencies: [
        "RunAnywhere", "ModelRegistry", "ReferenceEngine", "Conformance", "ConformanceDoubles", "GenBackend", "Imaging",
        "Tensors", "TestSupport",
      ]),
    .testTarget(
      name: "TSAIKitTests",
      dependencies: [
        "TSAIKit", "ReferenceEngine", "Conformance", "ConformanceDoubles", "GenBackend", "Imaging", "Tensors", "TestSupport",
      ]),
    .testTarget(
      name: "PlaygroundKitTests",
      dependencies: [
        "PlaygroundKit", "ReferenceEngine", "Conformance", "ConformanceDoubles", "GenBackend", "Imaging", "Tensors",
        "TestSupport",
      ]),
    .testTarget(
      name: "ConformanceTests",
      dependencies: [
        "Conformance", "ConformanceAdapters", "ConformanceDoubles", "ConformanceSelfTest", "GenbenchCLI", "Running",
        "RunAnywhere",
        "GenBackend", "Checkpoints", "Goldens", "Imaging", "Tensors", "TestSupport",
      ]),
    .testTarget(name: "MarkupTests", dependencies: ["Markup", "TestSupport"]),
    .testTarget(name: "MeasurementTests", dependencies: ["Measurement", "Tensors", "GenBackend", "Goldens", "TestSupport"]),
    .testTarget(
      name: "ExternalBackendsTests",
      dependencies: [
        "ExternalBackends", "Serving", "BackendProtocol", "GenBackend", "Checkpoints", "Tensors", "TestSupport",
      ], exclude: ["Engines"]),
    .testTarget(
      name: "ReportingTests", dependencies: ["Reporting", "Measurement", "GenBackend", "Checkpoints", "Tensors", "TestSupport"]),
    .testTarget(
      name: "RunningTests",
      dependencies: ["Running", "Reporting", "Measurement", "GenBackend", "Imaging", "Tensors", "TestSupport"]),
    .testTarget(
      name: "GenbenchCLITests",
      dependencies: [
        "GenbenchCLI", "Running", "GenBackend", "ModelRegistry", "Conformance", "ConformanceDoubles", "Imaging", "Measurement",
        "Reporting",
        "TestSupport",
        "Goldens", "Checkpoints", "Tensors",
      ], exclude: ["Snapshots"]),
  ] + fastTargets
)

// One language mode and one set of checks for all Swift targets.
for target in package.targets where target.type != .system && !["CPUFeatures", "CProcessGroup"].contains(target.name) {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .swiftLanguageMode(.v6),
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .treatAllWarnings(as: .error),
    ]
}
