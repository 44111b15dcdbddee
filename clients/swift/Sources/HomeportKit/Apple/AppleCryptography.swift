#if canImport(CryptoKit)
  import CryptoKit
  import Foundation

  public struct AppleCryptography: Cryptography {
    public init() {}

    public func sha256(_ data: Data) -> Data { Data(SHA256.hash(data: data)) }

    public func isValidSignature(_ signature: Data, of data: Data, publicKey: Data) -> Bool {
      let key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey)
      return key?.isValidSignature(signature, for: data) ?? false
    }
  }

  extension OfflineEntitlements {
    /// The ids of the active entitlements; nil if the app needs a new token. Store the value again after a call.
    public mutating func ids(at date: Date = Date()) -> Set<String>? { ids(at: date, verifiedBy: AppleCryptography()) }
  }

  #if canImport(Security)
    extension Homeport {
      /// A service whose session is in the Keychain.
      public init(server: URL, clientId: String, onSignedOut: @escaping @Sendable () -> Void = {}) {
        self.init(
          server: server, clientId: clientId, secrets: Keychain(), cryptography: AppleCryptography(), onSignedOut: onSignedOut)
      }
    }
  #endif
#endif
