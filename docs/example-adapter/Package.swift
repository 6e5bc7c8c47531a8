// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "PictureKit",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [.library(name: "PictureKit", targets: ["PictureKit"])],
  // The folder of a checkout; its name is the package's identity.
  dependencies: [.package(name: "genbench", path: "../..")],
  targets: [
    .target(name: "PictureKit"),
    .testTarget(
      name: "PictureKitTests", dependencies: ["PictureKit", .product(name: "Conformance", package: "genbench")]),
  ]
)
