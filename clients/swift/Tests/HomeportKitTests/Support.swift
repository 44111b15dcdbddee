import Foundation
import Testing

@testable import HomeportKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private let environment = ProcessInfo.processInfo.environment

/// A running service, an operator's key for it, and the test that started it: see tests/install/swift.
let service = environment["HOMEPORT_URL"].flatMap(URL.init)
let operatorKey = environment["HOMEPORT_API_KEY"] ?? ""
let harness = environment["HARNESS_URL"].flatMap(URL.init)
let password = "a good long password"

/// Secrets that last as long as the test.
final class MemoryStore: SecretStore, @unchecked Sendable {
  private let lock = NSLock()
  private var values: [String: Data] = [:]

  func read(_ name: String) -> Data? { lock.withLock { values[name] } }
  func write(_ value: Data?, as name: String) { lock.withLock { values[name] = value } }
  var token: String? { read("session").map { String(decoding: $0, as: UTF8.self) } }
}

/// Counts calls from any thread.
final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0

  func increment() { lock.withLock { count += 1 } }
  var value: Int { lock.withLock { count } }
}

func newClient(_ store: MemoryStore = MemoryStore(), server: URL? = service, onSignedOut: @escaping @Sendable () -> Void = {}) -> Homeport {
  Homeport(
    server: server!, clientId: "ios", secrets: store, cryptography: PlatformCryptography(), onSignedOut: onSignedOut)
}

func newEmail() -> String { "\(UUID().uuidString.lowercased())@example.com" }

/// A client that is signed in to a new account.
func newAccount(_ store: MemoryStore = MemoryStore(), email: String = newEmail()) async throws -> Homeport {
  let client = newClient(store)
  try await client.register(email: email, password: password, name: "Ann")
  return client
}

/// Asks the test that started this one for what an app cannot do itself.
func ask<Response: Decodable>(_ path: String, _ body: [String: String], as type: Response.Type) async throws -> Response {
  try await newClient(server: harness).request("POST", path, body: body, as: type)
}

/// A server that responds with these, one after the other, and then with 500.
struct Script {
  struct Answer: Encodable {
    var status = 200
    var headers: [String: String] = [:]
    var body = "{}"
  }
  private let id = UUID().uuidString
  var server: URL { harness!.appending(path: "/script/\(id)") }

  init(_ answers: [Answer]) async throws {
    try await newClient(server: harness).request("PUT", "/script/\(id)", body: answers)
  }

  /// How often it was asked.
  func count() async throws -> Int {
    struct Requests: Decodable { let count: Int }
    return try await newClient(server: harness).request("GET", "/count/\(id)", as: Requests.self).count
  }
}

/// The error that an operation throws.
func error<Failure: Error>(
  _ type: Failure.Type, isolation: isolated (any Actor)? = #isolation, _ operation: () async throws -> Void
) async throws -> Failure {
  do { try await operation() } catch let error as Failure { return error }
  throw Missing()
}

private struct Missing: Error {}
