// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "greeting-cards",
  platforms: [.macOS(.v15), .iOS(.v18)],
  // The folder of a checkout; its name is the package's identity.
  dependencies: [.package(name: "genbench", path: "../..")],
  targets: [
    .executableTarget(
      name: "greeting-cards",
      dependencies: ["PlaygroundKit", "ReferenceEngine", "GenBackend", "Imaging", "Tensors"].map {
        .product(name: $0, package: "genbench")
      })
  ]
)
