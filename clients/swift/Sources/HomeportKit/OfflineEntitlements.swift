import Foundation

/// Entitlements that an app checks without a connection, by a token that the service signed.
public struct OfflineEntitlements: Codable, Sendable {
  private let token: String
  private let keys: [PublicKey]
  private let issuer, audience: String
  /// The latest time that the app has seen, in seconds since 1970. Setting the clock back extends nothing.
  private var lastSeen: TimeInterval = 0

  /// A public key of `/.well-known/jwks.json` (RFC 8037).
  fileprivate struct PublicKey: Codable, Sendable { let kid, x: String? }

  fileprivate init(token: String, keys: [PublicKey], issuer: String, audience: String) {
    self.token = token
    self.keys = keys
    self.issuer = issuer
    self.audience = audience
  }

  /// The ids of the active entitlements; nil if the app needs a new token. Store the value again after a call.
  public mutating func ids(at date: Date = Date(), verifiedBy cryptography: any Cryptography) -> Set<String>? {
    guard let claims = claims(verifiedBy: cryptography) else { return nil }
    lastSeen = max(date.timeIntervalSince1970, lastSeen, claims.iat)
    guard claims.iss == issuer, claims.aud == audience, claims.exp > lastSeen else { return nil }
    let time = lastSeen
    return Set(claims.entitlements.filter { ($0.expiresAt ?? .infinity) > time }.map(\.id))
  }

  private struct Header: Decodable { let alg, typ, kid: String }
  private struct Claims: Decodable {
    struct Grant: Decodable {
      let id: String
      let expiresAt: TimeInterval?
    }
    let iss, aud: String
    let iat, exp: TimeInterval
    let entitlements: [Grant]
  }

  /// The claims of the token if its signature is valid (RFC 7519, section 7.2).
  private func claims(verifiedBy cryptography: any Cryptography) -> Claims? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let header = decode(Header.self, parts[0]), header.alg == "EdDSA", header.typ == "entitlements+jwt",
      let key = keys.first(where: { $0.kid == header.kid }).flatMap({ data(base64url: $0.x ?? "") }),
      let signature = data(base64url: parts[2]),
      cryptography.isValidSignature(signature, of: Data("\(parts[0]).\(parts[1])".utf8), publicKey: key)
    else { return nil }
    return decode(Claims.self, parts[1])
  }

  private func decode<Value: Decodable>(_ type: Value.Type, _ part: String) -> Value? {
    data(base64url: part).flatMap { try? JSONDecoder().decode(type, from: $0) }
  }
}

extension Homeport {
  /// Fetches a token and the keys that it is signed with. Call it at each start and once a day, and store the result.
  /// `audience` is the app's bundle id.
  public func offlineEntitlements(audience: String) async throws -> OfflineEntitlements {
    struct Issued: Decodable { let token: String }
    struct KeySet: Decodable { let keys: [OfflineEntitlements.PublicKey] }
    let query = [URLQueryItem(name: "audience", value: audience)]
    let token = try await request("GET", "/api/subscription/token", query: query, as: Issued.self).token
    let keys = try await request("GET", "/.well-known/jwks.json", as: KeySet.self).keys
    return OfflineEntitlements(token: token, keys: keys, issuer: issuer, audience: audience)
  }
}
