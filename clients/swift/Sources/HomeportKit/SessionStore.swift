import Foundation

/// Where the session's token is kept.
public protocol SessionStore: Sendable {
  func read() throws -> String?
  /// Removes the token if it is nil.
  func write(_ token: String?) throws
}

/// Keeps the token in the Keychain, where no backup restores it to another device.
public struct KeychainSession: SessionStore {
  private static let name = "session"

  public init() {}

  public func read() throws -> String? {
    try Keychain.read(Self.name).map { String(decoding: $0, as: UTF8.self) }
  }

  public func write(_ token: String?) throws {
    guard let token else { return try Keychain.remove(Self.name) }
    try Keychain.write(Data(token.utf8), as: Self.name)
  }
}
