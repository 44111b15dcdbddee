import CryptoKit
import Foundation

/// Entitlements that an app checks without a connection, by a token that the service signed.
public struct OfflineEntitlements: Codable, Sendable {
  private let token: String
  private let keys: [PublicKey]
  private let issuer, audience: String
  /// The latest time that the app has seen, in seconds since 1970. Setting the clock back extends nothing.
  private var lastSeen: TimeInterval

  /// A public key of `/.well-known/jwks.json` (RFC 8037).
  fileprivate struct PublicKey: Codable { let kid, x: String }

  fileprivate init(token: String, keys: [PublicKey], issuer: String, audience: String) {
    self.token = token
    self.keys = keys
    self.issuer = issuer
    self.audience = audience
    lastSeen = Date().timeIntervalSince1970
  }

  /// The ids of the active entitlements; nil if the app needs a new token. Store the value again after a call.
  public mutating func ids(at date: Date = Date()) -> Set<String>? {
    guard let claims = verifiedClaims() else { return nil }
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
  private func verifiedClaims() -> Claims? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let header = decode(Header.self, parts[0]), header.alg == "EdDSA",
      header.typ == "entitlements+jwt", let jwk = keys.first(where: { $0.kid == header.kid }),
      let raw = bytes(jwk.x), let key = try? Curve25519.Signing.PublicKey(rawRepresentation: raw),
      let signature = bytes(parts[2]), key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
    else { return nil }
    return decode(Claims.self, parts[1])
  }

  private func decode<Value: Decodable>(_ type: Value.Type, _ part: String) -> Value? {
    bytes(part).flatMap { try? JSONDecoder().decode(type, from: $0) }
  }

  /// Decodes base64url without padding (RFC 4648, section 5).
  private func bytes(_ text: String) -> Data? {
    let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    return Data(base64Encoded: base64.padding(toLength: (base64.count + 3) / 4 * 4, withPad: "=", startingAt: 0))
  }
}

extension Homeport {
  /// Fetches a token and the keys that it is signed with. Call it at each start and once a day, and store the result.
  /// `audience` is the app's bundle id.
  public func offlineEntitlements(audience: String) async throws -> OfflineEntitlements {
    struct Issued: Decodable { let token: String }
    struct KeySet: Decodable { let keys: [OfflineEntitlements.PublicKey] }
    let query = [URLQueryItem(name: "audience", value: audience)]
    let token = try await get("/api/subscription/token", Issued.self, query: query).token
    let keys = try await get("/.well-known/jwks.json", KeySet.self).keys
    return OfflineEntitlements(token: token, keys: keys, issuer: issuer, audience: audience)
  }

  /// The service's URL without a trailing slash, as it names itself.
  private var issuer: String { server.absoluteString.hasSuffix("/") ? String(server.absoluteString.dropLast()) : server.absoluteString }
}
