import AuthenticationServices
import CryptoKit
import Foundation
import SwiftUI

extension Homeport {
  /// Signs in through the system's browser (RFC 8252) and stores the session.
  /// `redirectURI` is the app's in `OAUTH_CLIENTS`; `browser` is SwiftUI's `webAuthenticationSession`.
  @MainActor public func signIn(_ browser: WebAuthenticationSession, redirectURI: String) async throws {
    let verifier = randomText(), state = randomText()
    let callback = try await browser.authenticate(
      using: authorizeURL(redirectURI: redirectURI, verifier: verifier, state: state),
      callbackURLScheme: String(redirectURI.prefix { $0 != ":" }))
    let items = URLComponents(url: callback, resolvingAgainstBaseURL: false)?.queryItems ?? []
    let value = { (name: String) in items.first { $0.name == name }?.value }
    guard value("state") == state, let code = value("code") else { throw URLError(.userAuthenticationRequired) }
    try await exchange([
      "grant_type": "authorization_code",
      "client_id": clientId,
      "code": code,
      "redirect_uri": redirectURI,
      "code_verifier": verifier,
    ])
  }

  /// Exchanges the ID token of "Sign in with Apple" (RFC 8693). `nonce` is the text whose SHA-256 was in the request.
  public func signIn(appleIdToken: String, nonce: String, name: String, authorizationCode: String) async throws {
    try await exchange([
      "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
      "client_id": clientId,
      "subject_token": appleIdToken,
      "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
      "nonce": nonce,
      "name": name,
      "authorization_code": authorizationCode,
    ])
  }

  /// Completes a sign-in that threw `second_factor_required`, with the code of the user's authenticator app.
  public func signIn(challenge: String, code: String) async throws {
    struct Auth: Decodable { let token: String }
    let body = try Body.json(["challenge": challenge, "code": code])
    let data = try await send("POST", "/api/auth/login/factor", body, withSession: false)
    try sessions.write(try JSONDecoder().decode(Auth.self, from: data).token)
  }

  func authorizeURL(redirectURI: String, verifier: String, state: String) -> URL {
    server.appending(path: "/api/auth/oauth/authorize").appending(queryItems: [
      URLQueryItem(name: "client_id", value: clientId),
      URLQueryItem(name: "redirect_uri", value: redirectURI),
      URLQueryItem(name: "response_type", value: "code"),
      URLQueryItem(name: "code_challenge", value: base64url(SHA256.hash(data: Data(verifier.utf8)))),
      URLQueryItem(name: "code_challenge_method", value: "S256"),
      URLQueryItem(name: "state", value: state),
    ])
  }

  private func exchange(_ parameters: [String: String]) async throws {
    struct Token: Decodable { let access_token: String }
    let data = try await send("POST", "/api/auth/oauth/token", .form(parameters), withSession: false)
    try sessions.write(try JSONDecoder().decode(Token.self, from: data).access_token)
  }
}

/// 32 random bytes, for a nonce.
public func randomText() -> String { base64url(SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }) }

func base64url(_ bytes: some Sequence<UInt8>) -> String {
  Data(bytes).base64EncodedString()
    .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    .replacingOccurrences(of: "=", with: "")
}

func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }
