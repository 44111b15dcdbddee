import Foundation

/// The body of `POST /api/push/register`.
struct Registration: Encodable {
  struct About: Encodable { let name, model, osVersion, appVersion, locale, timeZone: String }
  let token, installationId, environment, bundleId: String
  let device: About
  var evidence: Evidence?
}

/// `keyId` and one of `attestation` and `assertion`; in the simulator `publicKey` and `signature`.
struct Evidence: Encodable {
  let type, challengeId, pushNonce: String
  var keyId, attestation, assertion, publicKey, signature: String?
}

struct Challenge: Codable { let id, value: String }

struct Registered: Decodable {
  struct Device: Decodable { let id: String }
  let device: Device
  /// nil if the device is active.
  let challenge: Challenge?
}

extension Homeport {
  func register(_ registration: Registration) async throws -> Registered {
    try JSONDecoder().decode(Registered.self, from: await send("POST", "/api/push/register", .json(registration)))
  }
}
