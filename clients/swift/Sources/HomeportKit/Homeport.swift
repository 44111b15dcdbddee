import Foundation

/// A Homeport service, and the session of the person who is signed in to it on this device.
public struct Homeport: Sendable {
  /// The id of this app in the service's `OAUTH_CLIENTS`.
  public let clientId: String
  let server: URL
  let sessions: any SessionStore

  public init(server: URL, clientId: String, sessions: any SessionStore = KeychainSession()) {
    self.server = server
    self.clientId = clientId
    self.sessions = sessions
  }

  /// The person who is signed in, as the service knows them; nil after the session has ended.
  public func user() async throws -> User? {
    struct Session: Decodable { let user: User? }
    return try await get("/api/auth/session", Session.self).user
  }

  /// Ends the session on the service and removes its token from this device.
  public func signOut() async throws {
    guard let token = try sessions.read() else { return }
    _ = try await send("POST", "/api/auth/oauth/revoke", .form(["client_id": clientId, "token": token]), withSession: false)
    try sessions.write(nil)
  }

  func get<Response: Decodable>(_ path: String, _ type: Response.Type, query: [URLQueryItem] = []) async throws -> Response {
    try JSONDecoder().decode(type, from: await send("GET", path, query: query))
  }

  /// Sends a request, with the session's token if there is one. Returns the body of a successful response.
  func send(
    _ method: String, _ path: String, query: [URLQueryItem] = [], _ body: Body? = nil, withSession: Bool = true
  ) async throws -> Data {
    let url = server.appending(path: path)
    var request = URLRequest(url: query.isEmpty ? url : url.appending(queryItems: query))
    request.httpMethod = method
    request.setValue(body?.contentType, forHTTPHeaderField: "Content-Type")
    request.httpBody = body?.data
    request.httpShouldHandleCookies = false  // the service rejects a cookie from another origin
    if withSession, let token = try sessions.read() {
      request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    }
    let (data, response) = try await URLSession.shared.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    guard (200..<300).contains(response.statusCode) else { throw HomeportError(response, data) }
    return data
  }
}

/// A person's account.
public struct User: Decodable, Sendable {
  public let id, email: String
  public let name: String?
}

/// The body of a request, as JSON or as a form.
struct Body {
  let contentType: String
  let data: Data

  static func json(_ value: some Encodable) throws -> Body {
    Body(contentType: "application/json", data: try JSONEncoder().encode(value))
  }

  static func form(_ parameters: [String: String]) -> Body {
    let unreserved = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    let encode = { (text: String) in text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "" }
    let form = parameters.map { "\($0)=\(encode($1))" }.joined(separator: "&")
    return Body(contentType: "application/x-www-form-urlencoded", data: Data(form.utf8))
  }
}
