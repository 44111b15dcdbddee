import Foundation

/// What an account has paid for: the response of `GET /api/subscription/status`, as far as apps gate on it.
public struct SubscriptionStatus: Codable, Sendable {
  public let status: String
  public let isActive, willRenew: Bool
  public let entitlements: [Entitlement]
}

/// One entitlement. Times are in ISO 8601.
public struct Entitlement: Codable, Sendable {
  public let id, status, productId, store: String
  public let isActive, willRenew: Bool
  public let expiresAt, gracePeriodEndsAt, billingIssueDetectedAt, managementUrl: String?
}

extension Homeport {
  /// The account's subscription. `isFresh` asks the billing provider first: use it right after a purchase.
  public func status(isFresh: Bool = false) async throws -> SubscriptionStatus {
    let query = isFresh ? [URLQueryItem(name: "fresh", value: "1")] : []
    return try await get("/api/subscription/status", SubscriptionStatus.self, query: query)
  }
}
