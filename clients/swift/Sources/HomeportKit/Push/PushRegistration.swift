import Foundation

/// Signs challenges with a key of this device, one per account.
@MainActor protocol EvidenceSigner: AnyObject {
  func sign(_ clientData: Data, challengeId: String, nonce: String) async throws -> Evidence
  /// The service has accepted the evidence: keep its key.
  func accepted() throws
  /// The service has not: a key can be attested only once.
  func rejected()
  func forgetKey() throws
}

/// Registers this device for one account and answers its challenges.
@MainActor public final class PushRegistration {
  /// The build's APNs environment: `sandbox` if its `aps-environment` entitlement is `development`.
  public enum Environment: String, Sendable { case production, sandbox }

  private let accountId: String
  private let environment: Environment
  private let homeport: Homeport
  private let bundleId: String
  private let description: DeviceDescription
  private let signer: any EvidenceSigner
  private var isProving = false
  /// The service's id of this device; nil until it is known to be active.
  public private(set) var deviceId: String?

  init(
    accountId: String, environment: Environment, homeport: Homeport, bundleId: String, description: DeviceDescription,
    signer: any EvidenceSigner
  ) {
    self.accountId = accountId
    self.environment = environment
    self.homeport = homeport
    self.bundleId = bundleId
    self.description = description
    self.signer = signer
  }

  /// A challenge and the registration it belongs to.
  private struct PendingChallenge: Codable { let challenge: Challenge, token: String, at: Date }
  private struct Nonce: Codable { let challengeId, value: String }

  /// Call from application(_:didRegisterForRemoteNotificationsWithDeviceToken:) at each launch in the foreground.
  public func register(deviceToken: Data) async throws {
    let token = hex(deviceToken)
    if let pending = try stored(PendingChallenge.self, "challenge"), pending.token == token {
      let ageSeconds = -pending.at.timeIntervalSinceNow
      let hasNonce = try stored(Nonce.self, "nonce")?.challengeId == pending.challenge.id
      // Valid for 15 minutes. Its nonce may still arrive, and a new challenge would invalidate it.
      if ageSeconds < (hasNonce ? 14 * 60 : 2 * 60) { return try await prove() }
    }
    try await register(token: token)
  }

  /// Call from application(_:didReceiveRemoteNotification:fetchCompletionHandler:). The push can arrive before or after
  /// register's response, and in another process of the app that iOS launched in the background.
  public func received(_ userInfo: [AnyHashable: Any]) async throws {
    guard let data = userInfo["data"] as? [String: Any], data["kind"] as? String == "push.challenge",
      let challengeId = data["challengeId"] as? String, let nonce = data["nonce"] as? String
    else { return }
    try store(Nonce(challengeId: challengeId, value: nonce), as: "nonce")
    try await prove()
  }

  private func register(token: String) async throws {
    let response = try await homeport.register(registration(token))
    guard let challenge = response.challenge else {
      deviceId = response.device.id  // the device is active
      return try forgetChallenge()
    }
    try store(PendingChallenge(challenge: challenge, token: token, at: Date()), as: "challenge")
    try await prove()
  }

  /// Answers the challenge once both the challenge and its nonce have arrived.
  private func prove() async throws {
    guard !isProving, let pending = try stored(PendingChallenge.self, "challenge"),
      let nonce = try stored(Nonce.self, "nonce"), nonce.challengeId == pending.challenge.id
    else { return }
    isProving = true
    defer { isProving = false }
    do {
      try await answer(pending, nonce.value)
      try forgetChallenge()
    } catch let error as HomeportError {
      switch (error.code, error.reason ?? "") {
      case ("evidence_invalid", "key_unknown"), ("evidence_invalid", "counter_replayed"), ("evidence_invalid", "signature_invalid"):
        try signer.forgetKey()  // the challenge is still valid: answer it with a new key
        try await answer(pending, nonce.value)
        try forgetChallenge()
      case ("challenge_expired", _), ("challenge_used", _), ("evidence_invalid", "challenge_unknown"),
        ("evidence_invalid", "push_nonce_mismatch"):
        try forgetChallenge()
        isProving = false
        try await register(token: pending.token)  // returns a new challenge, or the device is active by now
      default:
        throw error  // see docs/guides/push-ios.md, "Handle errors"
      }
    }
  }

  private func answer(_ pending: PendingChallenge, _ nonce: String) async throws {
    var request = try registration(pending.token)
    request.evidence = try await signer.sign(clientData(pending, nonce), challengeId: pending.challenge.id, nonce: nonce)
    do {
      deviceId = try await homeport.register(request).device.id
    } catch {
      signer.rejected()
      throw error
    }
    try signer.accepted()
  }

  /// The bytes to sign: eight lines joined by line feeds, without a trailing one.
  private func clientData(_ pending: PendingChallenge, _ nonce: String) -> Data {
    let tokenHash = hex(homeport.cryptography.sha256(Data(pending.token.utf8)))
    let lines = [
      "push-register.v1", pending.challenge.id, pending.challenge.value, nonce, environment.rawValue, bundleId, tokenHash, accountId,
    ]
    return Data(lines.joined(separator: "\n").utf8)
  }

  private func registration(_ token: String) throws -> Registration {
    Registration(
      token: token, installationId: try installationId(), environment: environment.rawValue, bundleId: bundleId, device: description)
  }

  private func installationId() throws -> String {
    if let id = try stored(String.self, "installationId") { return id }
    let id = UUID().uuidString.lowercased()
    try store(id, as: "installationId")
    return id
  }

  private func forgetChallenge() throws {
    try homeport.secrets.write(nil, as: "challenge")
    try homeport.secrets.write(nil, as: "nonce")
  }

  private func store(_ value: some Encodable, as name: String) throws {
    try homeport.secrets.write(JSONEncoder().encode(value), as: name)
  }

  private func stored<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value? {
    try homeport.secrets.read(name).map { try JSONDecoder().decode(type, from: $0) }
  }
}
