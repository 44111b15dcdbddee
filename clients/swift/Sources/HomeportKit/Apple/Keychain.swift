#if canImport(Security)
  import Foundation
  import Security

  /// Values that are never restored to another device. `AfterFirstUnlock` lets a push read them while the screen is locked.
  public struct Keychain: SecretStore {
    /// What the Keychain responded, such as `errSecInteractionNotAllowed` before the first unlock.
    public struct Failure: LocalizedError, Equatable, Sendable {
      public let status: OSStatus
      public var errorDescription: String? { SecCopyErrorMessageString(status, nil) as String? }
    }

    public init() {}

    /// nil if there is no value. Throws if it cannot be read (before the first unlock): do not create a new value then.
    public func read(_ name: String) throws -> Data? {
      var query = item(name)
      query[kSecReturnData as String] = true
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      guard status == errSecSuccess else { throw Failure(status: status) }
      return found as? Data
    }

    public func write(_ data: Data?, as name: String) throws {
      let status = data.map { save($0, name) } ?? SecItemDelete(item(name) as CFDictionary)
      let isGone = data == nil && status == errSecItemNotFound
      guard status == errSecSuccess || isGone else { throw Failure(status: status) }
    }

    private func save(_ data: Data, _ name: String) -> OSStatus {
      let value: [String: Any] = [
        kSecValueData as String: data,
        kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
      ]
      let status = SecItemUpdate(item(name) as CFDictionary, value as CFDictionary)
      guard status == errSecItemNotFound else { return status }
      return SecItemAdd(item(name).merging(value) { _, new in new } as CFDictionary, nil)
    }

    private func item(_ name: String) -> [String: Any] {
      [
        kSecClass as String: kSecClassGenericPassword,
        kSecAttrService as String: "homeport",
        kSecAttrAccount as String: name,
        kSecUseDataProtectionKeychain as String: true,
      ]
    }
  }
#endif
