// swift-tools-version: 6.0
import PackageDescription

let package = Package(
  name: "HomeportKit",
  platforms: [.iOS("16.4"), .macOS("13.3")],
  products: [.library(name: "HomeportKit", targets: ["HomeportKit"])],
  targets: [
    .target(name: "HomeportKit", path: "clients/swift/Sources/HomeportKit"),
    .testTarget(name: "HomeportKitTests", dependencies: ["HomeportKit"], path: "clients/swift/Tests/HomeportKitTests"),
  ]
)

#if os(Linux)
  // CryptoKit is Apple's: on Linux, OpenSSL takes its place in the tests.
  package.targets.append(.systemLibrary(name: "OpenSSL", path: "clients/swift/Tests/OpenSSL", providers: [.apt(["libssl-dev"])]))
  package.targets[1].dependencies.append("OpenSSL")
#endif
