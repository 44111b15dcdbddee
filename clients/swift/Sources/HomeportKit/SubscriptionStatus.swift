import Foundation

/// What an account has paid for: the response of `GET /api/subscription/status`, as far as apps gate on it.
public struct SubscriptionStatus: Codable, Sendable {
  public let status: String
  public let isActive, willRenew: Bool
  public let entitlements: [Entitlement]

  /// Whether it gives access to an entitlement now.
  public func isEntitled(to id: String) -> Bool { entitlements.contains { $0.id == id && $0.isActive } }
}

public struct Entitlement: Codable, Identifiable, Sendable {
  public let id, status, store: String
  public let productId: String?
  public let isActive, willRenew: Bool
  public let expiresAt, gracePeriodEndsAt, billingIssueDetectedAt: Date?
  /// The page on which the user manages the subscription.
  public let managementUrl: String?
}

extension Homeport {
  /// The account's subscription. `isFresh` asks the billing provider first: use it right after a purchase.
  public func status(isFresh: Bool = false) async throws -> SubscriptionStatus {
    let query = isFresh ? [URLQueryItem(name: "fresh", value: "1")] : []
    return try await request("GET", "/api/subscription/status", query: query, as: SubscriptionStatus.self)
  }
}
