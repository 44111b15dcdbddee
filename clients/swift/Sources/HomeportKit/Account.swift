import Foundation

/// A person's account.
public struct User: Decodable, Equatable, Identifiable, Sendable {
  public let id, email: String
  public let name, image: String?
}

/// A device that receives push notifications, or a browser.
public struct Device: Decodable, Identifiable, Sendable {
  public let id: String
  /// `pending`, `active` or `invalid`.
  public let status: String
  /// `production`, `sandbox` or `web`.
  public let environment: String
  public let name, model, osVersion, appVersion: String?
  public let createdAt, lastSeenAt: Date
  public let lastDeliveredAt: Date?
  public let invalidReason, pendingReason: String?
  /// Whether this session registered it.
  public let current: Bool
}

/// What remains of a deleted account: subscriptions that the user has to cancel in the store.
public struct AccountDeletion: Decodable, Sendable {
  public struct Subscription: Decodable, Sendable {
    public let store, status: String
    public let expiresAt: Date?
    public let managementUrl: String?
  }
  public let subscriptions: [Subscription]
}

extension Homeport {
  /// The person who is signed in, as the service knows them; nil if nobody is.
  public func user() async throws -> User? {
    struct Session: Decodable { let user: User? }
    guard let token = try await session.token() else { return nil }
    let user = try decode(Session.self, from: await send("GET", "/api/auth/session", token: token)).user
    if user == nil { try await session.end(token) }
    return user
  }

  /// Ends the session, and the push registration with it. Forgets the token even if the service is out of reach.
  public func signOut() async throws {
    guard let token = try await session.token() else { return }
    try await session.set(nil)
    do {
      _ = try await send("POST", "/api/auth/signout", token: token)
    } catch let error as HomeportError where error.code == "unauthenticated" {
      // The service has ended it already.
    }
  }

  /// The devices of the account, newest first.
  public func devices() async throws -> [Device] {
    struct List: Decodable { let devices: [Device] }
    return try await request("GET", "/api/push/devices", as: List.self).devices
  }

  public func removeDevice(_ id: String) async throws {
    try await request("DELETE", "/api/push/devices/\(id)")
  }

  /// Authenticates the user again, for what throws `reauthentication_required`: holds for ten minutes. A user without a password
  /// signs in again instead.
  public func reauthenticate(password: String? = nil, code: String? = nil) async throws {
    try await request("POST", "/api/auth/reauthenticate", body: Proof(password: password, code: code))
  }

  /// Everything that is stored about the account, as a JSON file. Needs an authentication within the last ten minutes.
  public func exportAccount() async throws -> Data {
    try await request("GET", "/api/auth/account/export")
  }

  /// Deletes the account, its sessions and devices, and signs out. `password` is the account's; a user without one has to have
  /// signed in within the last ten minutes. `code` is the authenticator app's, if the account has a second factor.
  public func deleteAccount(password: String? = nil, code: String? = nil) async throws -> AccountDeletion {
    let proof = Proof(password: password, code: code, confirm: "DELETE")
    let deletion = try await request("POST", "/api/auth/account/delete", body: proof, as: AccountDeletion.self)
    try await session.set(nil)
    return deletion
  }

  private struct Proof: Encodable {
    let password, code: String?
    var confirm: String?
  }
}
