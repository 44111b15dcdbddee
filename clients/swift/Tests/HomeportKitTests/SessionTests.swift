import Foundation
import Testing

@testable import HomeportKit

@Suite(.enabled(if: service != nil)) struct SessionTests {
  @Test func registersSignsInAndSignsOut() async throws {
    let email = newEmail(), store = MemoryStore()
    let registered = newClient(store)
    #expect(try await registered.user() == nil)
    #expect(try await registered.register(email: email, password: password, name: "Ann"))
    #expect(try await registered.user()?.name == "Ann")
    let restarted = newClient(store)
    #expect(try await restarted.user()?.email == email)
    try await restarted.signOut()
    #expect(store.token == nil)

    let other = newClient()
    try await other.signIn(email: email, password: password, deviceName: "Ann's iPhone")
    #expect(try await other.user()?.email == email)
    let refused = try await error(HomeportError.self) { try await newClient().signIn(email: email, password: "wrong") }
    #expect(refused.code == "invalid_credentials")
    #expect(refused.status == 401)
  }

  @Test func forgetsASessionThatTheServiceHasEndedAndSaysSoOnce() async throws {
    let store = MemoryStore(), ends = Counter()
    let client = newClient(store, onSignedOut: ends.increment)
    try await client.register(email: newEmail(), password: password)
    let stolen = MemoryStore()
    stolen.write(store.read("session"), as: "session")
    let copy = stolen.read("session")
    try await newClient(stolen).signOut()
    stolen.write(copy, as: "session")
    try await newClient(stolen).signOut()  // it has ended already
    async let first = error(HomeportError.self) { _ = try await client.status() }
    async let second = error(HomeportError.self) { _ = try await client.devices() }
    #expect(try await [first.code, second.code] == ["unauthenticated", "unauthenticated"])
    #expect(ends.value == 1)
    #expect(store.token == nil)
  }

  @Test func keepsASessionThatReplacedTheRefusedOne() async throws {
    let store = MemoryStore()
    let client = try await newAccount(store)
    let current = store.token
    try await client.session.end("another token")
    #expect(store.token == current)
  }

  @Test func forgetsTheTokenOfASignOutWithoutANetwork() async throws {
    let store = MemoryStore()
    store.write(Data("a token".utf8), as: "session")
    let client = newClient(store, server: URL(string: "http://127.0.0.1:9")!)
    await #expect(throws: URLError.self) { try await client.signOut() }
    #expect(store.token == nil)
  }

  @Test func completesASignInWithTheSecondFactor() async throws {
    struct Factor: Decodable { let recoveryCode: String }
    let email = newEmail(), store = MemoryStore()
    _ = try await newAccount(store, email: email)
    let factor = try await ask("/factor", ["token": store.token!], as: Factor.self)
    let client = newClient()
    let first = try await error(HomeportError.self) { try await client.signIn(email: email, password: password) }
    #expect(first.code == "second_factor_required")
    let challenge = try #require(first.challenge)
    let wrong = try await error(HomeportError.self) { try await client.signIn(challenge: challenge, code: "000000") }
    #expect(wrong.code == "invalid_code")
    try await client.signIn(challenge: challenge, recoveryCode: factor.recoveryCode)
    #expect(try await client.user()?.email == email)
  }
}

@Suite(.enabled(if: service != nil)) struct BrowserTests {
  private let redirectURI = "com.example.acme:/callback"

  /// Signs in on the pages of the service, and decides there.
  private func browse(_ pending: PendingSignIn, _ decision: String, _ email: String) async throws -> URL {
    struct Callback: Decodable { let url: URL }
    let body = ["url": pending.url.absoluteString, "email": email, "password": password, "decision": decision]
    return try await ask("/browser", body, as: Callback.self).url
  }

  @Test func signsInWithPKCE() async throws {
    let email = newEmail()
    _ = try await newAccount(email: email)
    let client = newClient()
    let begun = client.beginSignIn(redirectURI: redirectURI)
    let pending = try JSONDecoder().decode(PendingSignIn.self, from: JSONEncoder().encode(begun))
    #expect(pending.codeVerifier.count == 43)
    try await client.completeSignIn(pending, callback: browse(pending, "allow", email))
    #expect(try await client.user()?.email == email)
  }

  @Test func refusesAnotherVerifierAndACodeThatWasUsed() async throws {
    let email = newEmail()
    _ = try await newAccount(email: email)
    let client = newClient()
    let pending = client.beginSignIn(redirectURI: redirectURI)
    let callback = try await browse(pending, "allow", email)
    let forged = PendingSignIn(url: pending.url, redirectURI: redirectURI, state: pending.state, codeVerifier: randomText())
    for attempt in [forged, pending] {
      let refused = try await error(HomeportError.self) { try await client.completeSignIn(attempt, callback: callback) }
      #expect(refused.code == "invalid_grant")
    }
  }

  @Test func tellsARefusalFromTheCallbackOfAnotherSignInOrService() async throws {
    let email = newEmail()
    _ = try await newAccount(email: email)
    let client = newClient()
    let pending = client.beginSignIn(redirectURI: redirectURI)
    let denied = try await browse(pending, "deny", email)
    let refusal = try await error(SignInError.self) { try await client.completeSignIn(pending, callback: denied) }
    guard case .refused("access_denied", let detail) = refusal else { throw refusal }
    #expect(detail?.contains("+") == false)
    #expect(refusal.localizedDescription == detail)

    let other = client.beginSignIn(redirectURI: redirectURI)
    #expect(other.state != pending.state)
    await #expect(throws: SignInError.stateMismatch) { try await client.completeSignIn(other, callback: denied) }
    let foreign = denied.absoluteString.replacingOccurrences(of: "127.0.0.1", with: "evil.example.com")
    await #expect(throws: SignInError.issuerMismatch) { try await client.completeSignIn(pending, callback: URL(string: foreign)!) }
    #expect(try await client.user() == nil)
  }

  @Test func sendsTheIdTokenOfAppleAsTheServiceExpects() async throws {
    let refused = try await error(HomeportError.self) {
      try await newClient().signIn(appleIdToken: "e30.e30.e30", nonce: randomText(), name: "Ann", authorizationCode: "a code")
    }
    #expect(refused.code == "invalid_request")
    #expect(refused.localizedDescription.contains("issuer"))
  }
}
