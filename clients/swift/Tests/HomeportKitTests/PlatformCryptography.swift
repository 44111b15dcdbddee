import Foundation

@testable import HomeportKit

#if canImport(OpenSSL)
  import OpenSSL

  struct PlatformCryptography: Cryptography {
    func sha256(_ data: Data) -> Data {
      var digest = [UInt8](repeating: 0, count: 32)
      EVP_Digest([UInt8](data), data.count, &digest, nil, EVP_sha256(), nil)
      return Data(digest)
    }

    func isValidSignature(_ signature: Data, of data: Data, publicKey: Data) -> Bool {
      let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, [UInt8](publicKey), publicKey.count)
      let context = EVP_MD_CTX_new()
      defer {
        EVP_PKEY_free(key)
        EVP_MD_CTX_free(context)
      }
      return key != nil && EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
        && EVP_DigestVerify(context, [UInt8](signature), signature.count, [UInt8](data), data.count) == 1
    }
  }

  /// What `SimulatorKey` is on Apple's platforms.
  @MainActor final class DeviceKey: EvidenceSigner {
    private var key = DeviceKey.newKey()

    init(accountId: String, secrets: any SecretStore) {}

    private static func newKey() -> OpaquePointer? {
      let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
      defer { EVP_PKEY_CTX_free(context) }
      var key: OpaquePointer?
      EVP_PKEY_keygen_init(context)
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
      EVP_PKEY_keygen(context, &key)
      return key
    }

    func sign(_ clientData: Data, challengeId: String, nonce: String) async throws -> Evidence {
      var evidence = Evidence(type: "device_key", challengeId: challengeId, pushNonce: nonce)
      var point: UnsafeMutablePointer<UInt8>?
      let length = EVP_PKEY_get1_encoded_public_key(key, &point)
      evidence.publicKey = Data(bytes: point!, count: length).base64EncodedString()
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      var signature = [UInt8](repeating: 0, count: 80)
      var size = signature.count
      EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key)
      EVP_DigestSign(context, &signature, &size, [UInt8](clientData), clientData.count)
      evidence.signature = Data(signature.prefix(size)).base64EncodedString()
      return evidence
    }

    func accepted() {}
    func rejected() {}
    func forgetKey() { key = Self.newKey() }
  }
#else
  typealias PlatformCryptography = AppleCryptography
  typealias DeviceKey = SimulatorKey
#endif
