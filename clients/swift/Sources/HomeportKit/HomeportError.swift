import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response that is not successful: a problem document (RFC 9457) or an OAuth error (RFC 6749, section 5.2).
public struct HomeportError: LocalizedError, Sendable {
  /// An invalid field of the request.
  public struct Field: Decodable, Sendable {
    /// Where it is in the body (RFC 6901), such as `/email`.
    public let pointer: String
    public let code: String
    public let detail: String?
  }

  /// The HTTP status; 0 if a successful response is not what the API describes.
  public let status: Int
  /// The problem's `code` or OAuth's `error`, or `unexpected_response`. Handle the error by it: `/docs/errors` of the service lists all.
  public let code: String
  public let title: String?
  public let detail: String?
  /// Why evidence was rejected, if `code` is `evidence_invalid`.
  public let reason: String?
  /// What `signIn(challenge:code:)` takes, if `code` is `second_factor_required`.
  public let challenge: String?
  /// The invalid fields, if `code` is `validation_failed`.
  public let fields: [Field]
  /// Identifies the request in the service's log.
  public let requestId: String?
  /// Seconds after which the request may succeed.
  public let retryAfter: TimeInterval?

  public var errorDescription: String? { detail ?? title ?? code }

  init(_ response: HTTPURLResponse, _ body: Data) {
    struct Problem: Decodable {
      let code, error, error_description, title, detail, reason, challenge: String?
      let errors: [Field]?
    }
    let problem = try? JSONDecoder().decode(Problem.self, from: body)
    status = response.statusCode
    code = problem?.code ?? problem?.error ?? "unexpected_response"
    title = problem?.title
    detail = problem?.detail ?? problem?.error_description
    reason = problem?.reason
    challenge = problem?.challenge
    fields = problem?.errors ?? []
    requestId = response.value(forHTTPHeaderField: "X-Request-Id")
    retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { seconds(inRetryAfter: $0) }
  }

  /// A successful response that cannot be decoded, such as the page of a captive portal.
  init(unexpected error: any Error) {
    (status, code, title, detail) = (0, "unexpected_response", nil, "The response is not what the API describes: \(error)")
    (reason, challenge, fields, requestId, retryAfter) = (nil, nil, [], nil, nil)
  }
}

/// The seconds of a `Retry-After`, which is a number or a date (RFC 9110, section 10.2.3).
private func seconds(inRetryAfter value: String) -> TimeInterval? {
  if let seconds = UInt32(value) { return TimeInterval(seconds) }
  let format = DateFormatter()
  format.locale = Locale(identifier: "en_US_POSIX")
  format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
  return format.date(from: value).map { max(0, $0.timeIntervalSinceNow) }
}
