#if canImport(AuthenticationServices) && canImport(SwiftUI)
  import AuthenticationServices
  import Foundation
  import SwiftUI

  extension Homeport {
    /// Signs in through the system's browser and stores the session. `browser` is SwiftUI's `webAuthenticationSession`, and
    /// `redirectURI` is the app's in `OAUTH_CLIENTS`: of its own scheme or, from iOS 17.4 and macOS 14.4, an https URL of an associated
    /// domain. Throws `ASWebAuthenticationSessionError.canceledLogin` if the user closes the browser, SignInError and HomeportError.
    @MainActor public func signIn(_ browser: WebAuthenticationSession, redirectURI: String) async throws {
      let pending = beginSignIn(redirectURI: redirectURI)
      try await completeSignIn(pending, callback: browser.callback(of: pending))
    }
  }

  extension WebAuthenticationSession {
    fileprivate func callback(of pending: PendingSignIn) async throws -> URL {
      let scheme = String(pending.redirectURI.prefix { $0 != ":" })
      guard #available(iOS 17.4, macOS 14.4, *) else { return try await authenticate(using: pending.url, callbackURLScheme: scheme) }
      let redirect = URL(string: pending.redirectURI)
      let callback: ASWebAuthenticationSession.Callback =
        scheme == "https" ? .https(host: redirect?.host() ?? "", path: redirect?.path() ?? "") : .customScheme(scheme)
      return try await authenticate(using: pending.url, callback: callback, additionalHeaderFields: [:])
    }
  }

  /// A sign-in with Apple on the device, for a `SignInWithAppleButton`. Keep it in a `@State`.
  public struct AppleSignIn: Sendable {
    private var nonce = ""

    public init() {}

    /// Asks for name and email, and binds the ID token to this sign-in.
    public mutating func prepare(_ request: ASAuthorizationAppleIDRequest, for homeport: Homeport) {
      nonce = randomText()
      request.requestedScopes = [.fullName, .email]
      request.nonce = hex(homeport.cryptography.sha256(Data(nonce.utf8)))
    }

    /// Exchanges Apple's ID token and stores the session. Throws `ASAuthorizationError.canceled` if the user cancels, HomeportError.
    @MainActor public func complete(_ result: Result<ASAuthorization, any Error>, for homeport: Homeport) async throws {
      let credential = try result.get().credential as? ASAuthorizationAppleIDCredential
      let text = { (data: Data?) in data.map { String(decoding: $0, as: UTF8.self) } }
      guard let idToken = text(credential?.identityToken) else { throw ASAuthorizationError(.invalidResponse) }
      let name = credential?.fullName.map { $0.formatted() }
      try await homeport.signIn(
        appleIdToken: idToken, nonce: nonce, name: name.flatMap { $0.isEmpty ? nil : $0 },
        authorizationCode: text(credential?.authorizationCode))
    }
  }
#endif
