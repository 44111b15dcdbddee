import Foundation
import Security

/// Values that are never restored to another device. `AfterFirstUnlock` lets a push read them while the screen is locked.
enum Keychain {
  struct Failure: Error { let status: OSStatus }

  /// nil if there is no value. Throws if it cannot be read (before the first unlock): do not create a new value then.
  static func read(_ name: String) throws -> Data? {
    var query = item(name)
    query[kSecReturnData as String] = true
    var found: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &found)
    if status == errSecItemNotFound { return nil }
    guard status == errSecSuccess else { throw Failure(status: status) }
    return found as? Data
  }

  static func write(_ data: Data, as name: String) throws {
    let value: [String: Any] = [
      kSecValueData as String: data,
      kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
    ]
    var status = SecItemUpdate(item(name) as CFDictionary, value as CFDictionary)
    if status == errSecItemNotFound {
      status = SecItemAdd(item(name).merging(value) { _, new in new } as CFDictionary, nil)
    }
    guard status == errSecSuccess else { throw Failure(status: status) }
  }

  static func remove(_ name: String) throws {
    let status = SecItemDelete(item(name) as CFDictionary)
    guard status == errSecSuccess || status == errSecItemNotFound else { throw Failure(status: status) }
  }

  private static func item(_ name: String) -> [String: Any] {
    [
      kSecClass as String: kSecClassGenericPassword,
      kSecAttrService as String: "homeport",
      kSecAttrAccount as String: name,
      kSecUseDataProtectionKeychain as String: true,
    ]
  }
}
