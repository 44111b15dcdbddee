import Foundation

/// The body of `POST /api/push/register`.
struct Registration: Encodable {
  let token, installationId, environment, bundleId: String
  let device: DeviceDescription
  var evidence: Evidence?
}

/// What the user sees in the list of devices.
struct DeviceDescription: Encodable, Sendable { let name, model, osVersion, appVersion, locale, timeZone: String }

/// `keyId` and one of `attestation` and `assertion`; in the simulator `publicKey` and `signature`.
struct Evidence: Encodable, Sendable {
  let type, challengeId, pushNonce: String
  var keyId, attestation, assertion, publicKey, signature: String?
}

struct Challenge: Codable { let id, value: String }

struct Registered: Decodable {
  let device: Device
  /// nil if the device is active.
  let challenge: Challenge?
}

/// The body of `PUT /api/push/devices/{deviceId}/live-activities/{activityId}`.
struct LiveActivityToken: Encodable { let attributesType, token: String }
/// The body of `PUT /api/push/devices/{deviceId}/live-activity-start-tokens/{attributesType}`.
struct LiveActivityStartToken: Encodable { let token: String }

extension Homeport {
  func register(_ registration: Registration) async throws -> Registered {
    try await request("POST", "/api/push/register", body: registration, as: Registered.self)
  }

  func registerLiveActivity(_ activityId: String, of attributesType: String, token: String, deviceId: String) async throws {
    let body = LiveActivityToken(attributesType: attributesType, token: token)
    try await request("PUT", "/api/push/devices/\(deviceId)/live-activities/\(activityId)", body: body)
  }

  func removeLiveActivity(_ activityId: String, deviceId: String) async throws {
    try await request("DELETE", "/api/push/devices/\(deviceId)/live-activities/\(activityId)")
  }

  func registerLiveActivityStart(of attributesType: String, token: String, deviceId: String) async throws {
    let body = LiveActivityStartToken(token: token)
    try await request("PUT", "/api/push/devices/\(deviceId)/live-activity-start-tokens/\(attributesType)", body: body)
  }
}
