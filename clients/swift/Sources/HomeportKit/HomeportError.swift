import Foundation

/// A response that is not successful: a problem document (RFC 9457) or an OAuth error (RFC 6749, section 5.2).
public struct HomeportError: Error, Sendable {
  public let status: Int
  /// The problem's `code` or OAuth's `error`. Handle the error by it.
  public let code: String
  /// Why evidence was rejected, if `code` is `evidence_invalid`.
  public let reason: String?
  public let detail: String?
  /// What `signIn(challenge:code:)` takes, if `code` is `second_factor_required`.
  public let challenge: String?
  /// Seconds after which the request may succeed.
  public let retryAfter: TimeInterval?

  init(_ response: HTTPURLResponse, _ body: Data) {
    struct Failure: Decodable { let code, error, reason, detail, challenge: String? }
    let failure = try? JSONDecoder().decode(Failure.self, from: body)
    status = response.statusCode
    code = failure?.code ?? failure?.error ?? "internal_error"
    reason = failure?.reason
    detail = failure?.detail
    challenge = failure?.challenge
    retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap(TimeInterval.init)
  }
}
