// swift-tools-version:5.9
import PackageDescription

let package = Package(
  name: "HomeportKit",
  platforms: [.iOS("16.4"), .macOS("13.3")],
  products: [
    .library(name: "HomeportKit", targets: ["HomeportKit"]),
    .library(name: "HomeportSparkle", targets: ["HomeportSparkle"]),
  ],
  dependencies: [
    // Of HomeportSparkle alone: Swift resolves it only for apps that use that product (SE-0226).
    .package(url: "https://github.com/sparkle-project/Sparkle", from: "2.6.0")
  ],
  targets: [
    .target(name: "HomeportKit"),
    .target(name: "HomeportSparkle", dependencies: ["Sparkle"]),
  ]
)
