import Foundation

/// A sign-in through the browser that has begun. Store it if the system may end the app meanwhile.
public struct PendingSignIn: Codable, Sendable {
  /// Open this in the system's browser.
  public let url: URL
  public let redirectURI: String
  let state, codeVerifier: String
}

/// Why the browser has returned without a sign-in.
public enum SignInError: LocalizedError, Equatable, Sendable {
  /// The user or the service has refused, with OAuth's `error`, such as `access_denied`.
  case refused(code: String, detail: String?)
  /// The URL belongs to another sign-in.
  case stateMismatch
  /// The URL comes from another service (RFC 9207).
  case issuerMismatch

  public var errorDescription: String? {
    switch self {
    case .refused(let code, let detail): detail ?? code
    case .stateMismatch: "The browser returned from another sign-in."
    case .issuerMismatch: "The browser returned from another service."
    }
  }
}

extension Homeport {
  /// Begins a sign-in through the system's browser (RFC 8252), with PKCE (RFC 7636). `redirectURI` is the app's in `OAUTH_CLIENTS`.
  public func beginSignIn(redirectURI: String) -> PendingSignIn {
    let state = randomText(), codeVerifier = randomText()
    let url = server.appending(path: "/api/auth/oauth/authorize").appending(queryItems: [
      URLQueryItem(name: "client_id", value: clientId),
      URLQueryItem(name: "redirect_uri", value: redirectURI),
      URLQueryItem(name: "response_type", value: "code"),
      URLQueryItem(name: "code_challenge", value: base64url(cryptography.sha256(Data(codeVerifier.utf8)))),
      URLQueryItem(name: "code_challenge_method", value: "S256"),
      URLQueryItem(name: "state", value: state),
    ])
    return PendingSignIn(url: url, redirectURI: redirectURI, state: state, codeVerifier: codeVerifier)
  }

  /// Completes a sign-in with the URL to which the browser has returned, and stores the session. Throws SignInError, HomeportError.
  public func completeSignIn(_ pending: PendingSignIn, callback: URL) async throws {
    let items = URLComponents(string: callback.absoluteString.replacingOccurrences(of: "+", with: "%20"))?.queryItems
    let value = { (name: String) in items?.first { $0.name == name }?.value }
    guard value("state") == pending.state else { throw SignInError.stateMismatch }
    guard value("iss") == issuer else { throw SignInError.issuerMismatch }
    if let error = value("error") { throw SignInError.refused(code: error, detail: value("error_description")) }
    try await exchange([
      "grant_type": "authorization_code",
      "code": value("code") ?? "",
      "redirect_uri": pending.redirectURI,
      "code_verifier": pending.codeVerifier,
    ])
  }

  /// Exchanges the ID token of "Sign in with Apple" (RFC 8693). `nonce` is the text whose SHA-256 was in the request.
  public func signIn(appleIdToken: String, nonce: String, name: String? = nil, authorizationCode: String? = nil) async throws {
    var grant = [
      "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
      "subject_token": appleIdToken,
      "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
      "nonce": nonce,
    ]
    grant["name"] = name
    grant["authorization_code"] = authorizationCode
    try await exchange(grant)
  }

  /// Signs in with a password. Throws HomeportError such as `invalid_credentials` and `second_factor_required`.
  public func signIn(email: String, password: String, deviceName: String? = nil) async throws {
    let credentials = ["email": email, "password": password, "deviceName": deviceName, "transport": "token"]
    try await keepSession("/api/auth/login", credentials)
  }

  /// Completes a sign-in that threw `second_factor_required`, with the code of the user's authenticator app.
  public func signIn(challenge: String, code: String) async throws {
    try await keepSession("/api/auth/login/factor", ["challenge": challenge, "code": code])
  }

  /// The same with one of the user's recovery codes.
  public func signIn(challenge: String, recoveryCode: String) async throws {
    try await keepSession("/api/auth/login/factor", ["challenge": challenge, "recoveryCode": recoveryCode])
  }

  /// Creates an account and signs in. Returns false if the user has to verify the email first.
  @discardableResult
  public func register(email: String, password: String, name: String? = nil, deviceName: String? = nil) async throws -> Bool {
    let account = ["email": email, "password": password, "name": name, "deviceName": deviceName, "transport": "token"]
    return try await keepSession("/api/auth/register", account)
  }

  /// Stores the session of a response. Returns whether it has one.
  @discardableResult
  private func keepSession(_ path: String, _ body: [String: String?]) async throws -> Bool {
    struct Auth: Decodable { let token: String? }
    let data = try await send("POST", path, body: .json(body.compactMapValues { $0 }))
    guard let token = try decode(Auth.self, from: data).token else { return false }
    try await session.set(token)
    return true
  }

  private func exchange(_ grant: [String: String]) async throws {
    struct Token: Decodable { let access_token: String }
    let form = grant.merging(["client_id": clientId]) { value, _ in value }
    let data = try await send("POST", "/api/auth/oauth/token", body: .form(form))
    try await session.set(decode(Token.self, from: data).access_token)
  }

  /// The service's URL without a trailing slash, as it names itself.
  var issuer: String { server.absoluteString.hasSuffix("/") ? String(server.absoluteString.dropLast()) : server.absoluteString }
}
