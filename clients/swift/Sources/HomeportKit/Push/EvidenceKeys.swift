#if canImport(UIKit)
  import CryptoKit
  import DeviceCheck
  import Foundation

  /// The key that signs challenges, one per account on this iPhone.
  @MainActor final class EvidenceKeys {
    private let name: String
    /// Generated, but not yet accepted by the service.
    private var newKeyId: String?

    init(accountId: String) { name = "attestKey.\(accountId)" }

    func save(_ keyId: String) throws {
      try Keychain.write(Data(keyId.utf8), as: name)
      newKeyId = nil
    }

    func forget() throws {
      try Keychain.remove(name)
      newKeyId = nil
    }

    func dropNewKey() { newKeyId = nil }

    #if targetEnvironment(simulator)
      /// Simulators have no App Attest. A P-256 key signs instead; the service accepts it only in the sandbox environment.
      func sign(_ clientData: Data, _ challengeId: String, _ nonce: String) async throws -> (Evidence, newKeyId: String?) {
        let key = try simulatorKey()
        var evidence = Evidence(type: "device_key", challengeId: challengeId, pushNonce: nonce)
        evidence.publicKey = key.publicKey.x963Representation.base64EncodedString()
        // signature(for:) hashes with SHA-256 itself: pass the data, not its hash.
        evidence.signature = try key.signature(for: clientData).derRepresentation.base64EncodedString()
        return (evidence, nil)
      }

      private func simulatorKey() throws -> P256.Signing.PrivateKey {
        if let kept = try Keychain.read(name) { return try P256.Signing.PrivateKey(rawRepresentation: kept) }
        let key = P256.Signing.PrivateKey()
        try Keychain.write(key.rawRepresentation, as: name)
        return key
      }
    #else
      /// Returns an assertion by the known key, or an attestation of a new key with its id. Save the id after the service
      /// has accepted the attestation.
      func sign(_ clientData: Data, _ challengeId: String, _ nonce: String) async throws -> (Evidence, newKeyId: String?) {
        let service = DCAppAttestService.shared
        guard service.isSupported else { throw DCError(.featureUnsupported) }
        let hash = Data(SHA256.hash(data: clientData))
        var evidence = Evidence(type: "app_attest", challengeId: challengeId, pushNonce: nonce)
        if let keyId = try Keychain.read(name).map({ String(decoding: $0, as: UTF8.self) }) {
          do {
            evidence.assertion = try await service.generateAssertion(keyId, clientDataHash: hash).base64EncodedString()
            evidence.keyId = keyId
            return (evidence, nil)
          } catch let error as DCError where error.code == .invalidKey || error.code == .invalidInput {
            try forget()  // the app was reinstalled: the id remains, the key is gone
          }
        }
        let keyId: String
        if let newKeyId { keyId = newKeyId } else { keyId = try await service.generateKey() }
        newKeyId = keyId
        do {
          evidence.attestation = try await service.attestKey(keyId, clientDataHash: hash).base64EncodedString()
        } catch let error as DCError where error.code == .serverUnavailable {
          throw error  // Apple is busy: retry with the same key and challenge
        } catch {
          newKeyId = nil  // any other error: use a new key next time
          throw error
        }
        evidence.keyId = keyId
        return (evidence, keyId)
      }
    #endif
  }
#endif
