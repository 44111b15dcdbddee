#if canImport(DeviceCheck) && canImport(CryptoKit)
  import CryptoKit
  import DeviceCheck
  import Foundation

  /// Signs with a key of App Attest.
  @MainActor final class AppAttest: EvidenceSigner {
    private let name: String
    private let secrets: any SecretStore
    /// Generated, but not yet accepted by the service.
    private var newKeyId: String?

    init(accountId: String, secrets: any SecretStore) {
      name = "attestKey.\(accountId)"
      self.secrets = secrets
    }

    /// Returns an assertion by the known key, or an attestation of a new key.
    func sign(_ clientData: Data, challengeId: String, nonce: String) async throws -> Evidence {
      let service = DCAppAttestService.shared
      guard service.isSupported else { throw DCError(.featureUnsupported) }
      let hash = Data(SHA256.hash(data: clientData))
      var evidence = Evidence(type: "app_attest", challengeId: challengeId, pushNonce: nonce)
      if let keyId = try secrets.read(name).map({ String(decoding: $0, as: UTF8.self) }) {
        do {
          evidence.assertion = try await service.generateAssertion(keyId, clientDataHash: hash).base64EncodedString()
          evidence.keyId = keyId
          return evidence
        } catch let error as DCError where error.code == .invalidKey || error.code == .invalidInput {
          try forgetKey()  // the app was reinstalled: the id remains, the key is gone
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
      return evidence
    }

    func accepted() throws {
      guard let keyId = newKeyId else { return }
      try secrets.write(Data(keyId.utf8), as: name)
      newKeyId = nil
    }

    func rejected() { newKeyId = nil }

    func forgetKey() throws {
      try secrets.write(nil, as: name)
      newKeyId = nil
    }
  }

  /// Simulators have no App Attest. A P-256 key signs instead; the service accepts it only in the sandbox environment.
  @MainActor final class SimulatorKey: EvidenceSigner {
    private let name: String
    private let secrets: any SecretStore

    init(accountId: String, secrets: any SecretStore) {
      name = "attestKey.\(accountId)"
      self.secrets = secrets
    }

    func sign(_ clientData: Data, challengeId: String, nonce: String) async throws -> Evidence {
      let key = try storedKey()
      var evidence = Evidence(type: "device_key", challengeId: challengeId, pushNonce: nonce)
      evidence.publicKey = key.publicKey.x963Representation.base64EncodedString()
      // signature(for:) hashes with SHA-256 itself: pass the data, not its hash.
      evidence.signature = try key.signature(for: clientData).derRepresentation.base64EncodedString()
      return evidence
    }

    func accepted() {}
    func rejected() {}
    func forgetKey() throws { try secrets.write(nil, as: name) }

    private func storedKey() throws -> P256.Signing.PrivateKey {
      if let kept = try secrets.read(name) { return try P256.Signing.PrivateKey(rawRepresentation: kept) }
      let key = P256.Signing.PrivateKey()
      try secrets.write(key.rawRepresentation, as: name)
      return key
    }
  }
#endif
