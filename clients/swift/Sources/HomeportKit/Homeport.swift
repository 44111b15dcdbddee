import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A Homeport service, and the session of the person who is signed in to it on this device.
public struct Homeport: Sendable {
  public let server: URL
  /// The id of this app in the service's `OAUTH_CLIENTS`.
  public let clientId: String
  let session: Session
  let secrets: any SecretStore
  let cryptography: any Cryptography
  private let network: URLSession

  /// `server` is the service's `NEXTAUTH_URL`. `onSignedOut` is called when the service has ended the session: ask the user to sign in
  /// again. On Apple's platforms, `secrets` and `cryptography` can be left out.
  public init(
    server: URL, clientId: String, secrets: any SecretStore, cryptography: any Cryptography, network: URLSession = .shared,
    onSignedOut: @escaping @Sendable () -> Void = {}
  ) {
    self.server = server
    self.clientId = clientId
    self.secrets = secrets
    self.cryptography = cryptography
    self.network = network
    session = Session(secrets: secrets, onEnd: onSignedOut)
  }

  /// Sends a request to any route of the API, with `body` as JSON, and returns the response as `type`. A `Date` is read from the
  /// service's timestamps. Retries after a transient error if the request may arrive twice.
  /// Throws HomeportError, or URLError if no response arrives.
  public func request<Response: Decodable>(
    _ method: String, _ path: String, query: [URLQueryItem] = [], body: (any Encodable)? = nil, as type: Response.Type
  ) async throws -> Response {
    try decode(type, from: await request(method, path, query: query, body: body))
  }

  /// The same for a response that is not JSON, or that the app does not need.
  @discardableResult
  public func request(_ method: String, _ path: String, query: [URLQueryItem] = [], body: (any Encodable)? = nil) async throws -> Data {
    let token = try await session.token()
    do {
      return try await send(method, path, query: query, body: body.map(Body.json), token: token)
    } catch let error as HomeportError where error.code == "unauthenticated" {
      if let token { try await session.end(token) }
      throw error
    }
  }

  /// Sends a request, with retries. Returns the body of a successful response.
  func send(_ method: String, _ path: String, query: [URLQueryItem] = [], body: Body? = nil, token: String? = nil) async throws -> Data {
    let url = server.appending(path: path)
    var request = URLRequest(url: query.isEmpty ? url : url.appending(queryItems: query))
    request.httpMethod = method
    request.httpBody = body?.data
    request.httpShouldHandleCookies = false  // the service rejects a cookie from another origin
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    if let body { request.setValue(body.contentType, forHTTPHeaderField: "Content-Type") }
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    var retries = Retries(isRepeatable: !["POST", "PATCH"].contains(method))
    while true {
      do {
        let (data, response) = try await network.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        guard (200..<300).contains(response.statusCode) else { throw HomeportError(response, data) }
        return data
      } catch {
        guard let seconds = retries.delay(after: error) else { throw error }
        try await Task.sleep(for: .seconds(seconds))
      }
    }
  }

  func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try String(from: decoder)
      let formats = [true, false].map { Date.ISO8601FormatStyle(includingFractionalSeconds: $0) }
      if let date = formats.lazy.compactMap({ try? $0.parse(text) }).first { return date }
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "\(text) is not a time"))
    }
    do { return try decoder.decode(type, from: data) } catch { throw HomeportError(unexpected: error) }
  }
}

/// The body of a request, as JSON or as a form.
struct Body {
  let contentType: String
  let data: Data

  static func json(_ value: any Encodable) throws -> Body {
    Body(contentType: "application/json", data: try JSONEncoder().encode(value))
  }

  static func form(_ parameters: [String: String]) -> Body {
    let unreserved = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    let encode = { (text: String) in text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "" }
    let form = parameters.map { "\($0)=\(encode($1))" }.joined(separator: "&")
    return Body(contentType: "application/x-www-form-urlencoded", data: Data(form.utf8))
  }
}

/// How often, and when, a request is sent again. A 429 was not processed, so any request is repeated after it.
private struct Retries {
  private static let maxRetries = 2, maxWaitSeconds = 10.0, firstBackoffSeconds = 0.3
  /// The statuses of a gateway, or of a service that is starting, busy or without its database.
  private static let unavailable = [502, 503, 504]

  let isRepeatable: Bool
  private var count = 0

  init(isRepeatable: Bool) { self.isRepeatable = isRepeatable }

  /// The seconds to wait before the next attempt, as `Retry-After` says; nil if there must be none. A longer wait is the caller's.
  mutating func delay(after error: any Error) -> TimeInterval? {
    guard count < Self.maxRetries else { return nil }
    let backoff = TimeInterval.random(in: 0...Self.firstBackoffSeconds) * pow(2, TimeInterval(count))  // full jitter
    count += 1
    if let error = error as? URLError { return isRepeatable && error.code != .cancelled ? backoff : nil }
    guard let error = error as? HomeportError, error.retryAfter ?? 0 <= Self.maxWaitSeconds else { return nil }
    let isRefused = error.status == 429 && error.retryAfter != nil
    guard isRefused || (isRepeatable && Self.unavailable.contains(error.status)) else { return nil }
    return error.retryAfter ?? backoff
  }
}
