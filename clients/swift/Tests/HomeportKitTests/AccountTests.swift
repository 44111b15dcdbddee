import Foundation
import Testing

@testable import HomeportKit

@Suite(.enabled(if: service != nil)) struct AccountTests {
  @Test func readsTheStatusAndItsTimes() async throws {
    let client = try await newAccount()
    #expect(try await client.status().entitlements.isEmpty)
    let end = try await grantPro(to: client)
    let status = try await client.status(isFresh: true)
    #expect(status.isEntitled(to: "pro"))
    #expect(!status.isEntitled(to: "other"))
    let expiresAt = try #require(status.entitlements.first?.expiresAt)
    #expect(abs(expiresAt.timeIntervalSince(end)) < 60)
    #expect(status.entitlements.first?.store == "PROMOTIONAL")
  }

  @Test func exportsTheAccountAfterAnAuthentication() async throws {
    let email = newEmail()
    let client = try await newAccount(email: email)
    let wrong = try await error(HomeportError.self) { try await client.reauthenticate(password: "wrong") }
    #expect(wrong.code == "reauthentication_required")
    try await client.reauthenticate(password: password)
    #expect(String(decoding: try await client.exportAccount(), as: UTF8.self).contains(email))
  }

  @Test func deletesTheAccountAndForgetsItsSession() async throws {
    let email = newEmail(), store = MemoryStore()
    let client = try await newAccount(store, email: email)
    try await grantPro(to: client)
    let wrong = try await error(HomeportError.self) { _ = try await client.deleteAccount(password: "wrong") }
    #expect(wrong.status == 403)
    #expect(store.token != nil)
    let deletion = try await client.deleteAccount(password: password)
    #expect(deletion.subscriptions.allSatisfy { $0.status == "active" })
    #expect(store.token == nil)
    let gone = try await error(HomeportError.self) { try await newClient().signIn(email: email, password: password) }
    #expect(gone.code == "invalid_credentials")
  }

  @Test func requestsAnyOtherRoute() async throws {
    struct Health: Decodable { let status: String }
    #expect(try await newClient().request("GET", "/api/health", as: Health.self).status == "ok")
    let missing = try await error(HomeportError.self) { try await newClient().request("GET", "/api/nothing/a b?c") }
    #expect(missing.code == "not_found")
    #expect(missing.requestId != nil)
  }
}

/// Grants "pro" for 30 days. Returns when it ends.
@discardableResult func grantPro(to client: Homeport) async throws -> Date {
  let store = MemoryStore()
  store.write(Data(operatorKey.utf8), as: "session")
  struct Grant: Encodable {
    let accountId: String
    let entitlementId = "pro", days = 30, reason = "A test"
  }
  let user = try await client.user()
  try await newClient(store).request("POST", "/api/admin/billing/grants", body: Grant(accountId: user!.id))
  return Date().addingTimeInterval(30 * 86_400)
}

@Suite(.enabled(if: service != nil)) struct OfflineTests {
  @Test func opensWhatATokenGrantsUntilItExpires() async throws {
    let client = try await newAccount()
    try await grantPro(to: client)
    var offline = try await client.offlineEntitlements(audience: "com.example.acme")
    offline = try JSONDecoder().decode(OfflineEntitlements.self, from: JSONEncoder().encode(offline))
    let cryptography = PlatformCryptography()
    #expect(offline.ids(verifiedBy: cryptography) == ["pro"])
    #expect(offline.ids(at: .distantPast, verifiedBy: cryptography) == ["pro"])
    #expect(offline.ids(at: Date().addingTimeInterval(366 * 86_400), verifiedBy: cryptography) == nil)
    #expect(offline.ids(verifiedBy: cryptography) == nil, "setting the clock back extends nothing")
  }

  @Test(arguments: ["token", "x", "kid", "audience", "issuer"]) func opensNothingAfterAChangeOf(_ field: String) async throws {
    let client = try await newAccount()
    try await grantPro(to: client)
    let offline = try await client.offlineEntitlements(audience: "com.example.acme")
    let text = String(decoding: try JSONEncoder().encode(offline), as: UTF8.self)
    // The last character but one of the field: the last of a signature has bits that count for nothing.
    let changed = text.replacing(try Regex("(\"\(field)\":\"[^\"]*)([^\"])([^\"]\")")) { match in
      "\(match[1].substring!)\(match[2].substring! == "A" ? "B" : "A")\(match[3].substring!)"
    }
    #expect(changed != text)
    var forged = try JSONDecoder().decode(OfflineEntitlements.self, from: Data(changed.utf8))
    #expect(forged.ids(verifiedBy: PlatformCryptography()) == nil)
  }
}

@Suite(.enabled(if: service != nil)) @MainActor struct PushTests {
  private let description = DeviceDescription(
    name: "Simulator", model: "iPhone18,1", osVersion: "26.1", appVersion: "1.0.0", locale: "en-GB", timeZone: "Europe/Berlin")

  private func newRegistration(_ client: Homeport) async throws -> PushRegistration {
    let user = try await client.user()
    return PushRegistration(
      accountId: user!.id, environment: .sandbox, homeport: client, bundleId: "com.example.homeport", description: description,
      signer: DeviceKey(accountId: user!.id, secrets: client.secrets))
  }

  private func newToken() -> Data { Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }) }

  /// The data of the challenge that the service has sent to a device.
  private func challenge(for client: Homeport) async throws -> [String: Any] {
    struct Pending: Codable { let challenge: Challenge }
    let pending = try JSONDecoder().decode(Pending.self, from: #require(try client.secrets.read("challenge")))
    struct Sent: Decodable { let kind, challengeId, nonce: String }
    let sent = try await ask("/challenge", ["id": pending.challenge.id], as: Sent.self)
    return ["data": ["kind": sent.kind, "challengeId": sent.challengeId, "nonce": sent.nonce]]
  }

  @Test func registersAnswersTheChallengeAndIsListed() async throws {
    let client = try await newAccount()
    let push = try await newRegistration(client)
    let token = newToken()
    try await push.register(deviceToken: token)
    #expect(push.deviceId == nil)
    #expect(try await client.devices().map(\.status) == ["pending"])
    try await push.register(deviceToken: token)  // keeps the challenge, whose nonce may still arrive
    try await push.received(["data": ["kind": "something else"]])
    try await push.received(challenge(for: client))
    let devices = try await client.devices()
    #expect(devices.map(\.status) == ["active"])
    #expect(devices.map(\.id) == [push.deviceId])
    #expect(devices.first?.current == true)

    let restarted = try await newRegistration(client)
    try await restarted.register(deviceToken: token)
    #expect(restarted.deviceId == push.deviceId)
    try await client.removeDevice(push.deviceId!)
    #expect(try await client.devices().isEmpty)
  }

  @Test func sendsTheTokensOfLiveActivities() async throws {
    struct List: Decodable {
      struct Activity: Decodable { let activityId: String }
      let liveActivities: [Activity]
    }
    let client = try await newAccount()
    let push = try await newRegistration(client)
    try await push.register(deviceToken: newToken())
    try await push.received(challenge(for: client))
    let id = try #require(push.deviceId)
    let list = { try await client.request("GET", "/api/push/devices/\(id)/live-activities", as: List.self).liveActivities }
    try await client.registerLiveActivity("order-1", of: "Delivery", token: hex(newToken()), deviceId: id)
    try await client.registerLiveActivityStart(of: "Delivery", token: hex(newToken()), deviceId: id)
    #expect(try await list().map(\.activityId) == ["order-1"])
    try await client.removeLiveActivity("order-1", deviceId: id)
    #expect(try await list().isEmpty)
  }

  @Test func registersAgainAfterAChallengeOfAnotherRegistration() async throws {
    let client = try await newAccount()
    let push = try await newRegistration(client)
    let token = newToken()
    try await push.register(deviceToken: token)
    let old = try await challenge(for: client)
    try await client.removeDevice(client.devices()[0].id)
    try await push.received(old)  // the service refuses the evidence and returns a new challenge
    #expect(try await client.devices().map(\.status) == ["pending"])
    try await push.received(challenge(for: client))
    #expect(try await client.devices().map(\.id) == [push.deviceId])
  }
}
