import Foundation

/// Where the session's token and the keys of push are kept. `Keychain` is Apple's, which restores nothing to another device.
public protocol SecretStore: Sendable {
  /// nil if there is no value. Throws if it cannot be read at the moment.
  func read(_ name: String) throws -> Data?
  /// Removes the value if it is nil.
  func write(_ value: Data?, as name: String) throws
}

/// The session on this device.
actor Session {
  private static let name = "session"

  private let secrets: any SecretStore
  private let onEnd: @Sendable () -> Void

  init(secrets: any SecretStore, onEnd: @escaping @Sendable () -> Void) {
    self.secrets = secrets
    self.onEnd = onEnd
  }

  func token() throws -> String? { try secrets.read(Self.name).map { String(decoding: $0, as: UTF8.self) } }

  func set(_ token: String?) throws { try secrets.write(token.map { Data($0.utf8) }, as: Self.name) }

  /// Forgets a token that the service has refused, unless another one has replaced it in the meantime.
  func end(_ refused: String) throws {
    guard try token() == refused else { return }
    try set(nil)
    onEnd()
  }
}
