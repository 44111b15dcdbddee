import Foundation
import Testing

@testable import HomeportKit

@Suite(.enabled(if: service != nil)) struct ErrorTests {
  @Test func tellsTheFieldsOfAProblem() async throws {
    let invalid = try await error(HomeportError.self) { try await newClient().register(email: "nobody", password: password) }
    #expect(invalid.code == "validation_failed")
    #expect(invalid.status == 422)
    #expect(invalid.fields.map(\.pointer) == ["/email"])
    #expect(invalid.localizedDescription == invalid.title)
    #expect(invalid.requestId?.isEmpty == false)
  }

  @Test(arguments: [
    (Script.Answer(status: 503, body: "{\"code\":\"unavailable\"}"), "GET"),
    (Script.Answer(status: 502, headers: ["Retry-After": "0"], body: "<h1>Bad gateway</h1>"), "PUT"),
    (Script.Answer(status: 429, headers: ["Retry-After": "0"]), "POST"),
    (Script.Answer(status: 0), "DELETE"),
  ]) func repeatsWhatMayArriveTwice(_ transient: Script.Answer, _ method: String) async throws {
    let script = try await Script([transient, transient, Script.Answer(body: "[1]")])
    #expect(try await newClient(server: script.server).request(method, "/anything", as: [Int].self) == [1])
    #expect(try await script.count() == 3)
  }

  @Test(
    arguments: [
      (Script.Answer(status: 503, body: "{\"code\":\"unavailable\"}"), "POST", "unavailable", nil),
      (Script.Answer(status: 429, body: "{\"code\":\"rate_limited\"}"), "GET", "rate_limited", nil),
      (Script.Answer(status: 503, headers: ["Retry-After": "60"], body: "{}"), "GET", "unexpected_response", 60.0),
      (Script.Answer(status: 503, headers: ["Retry-After": "nan"], body: "{}"), "PATCH", "unexpected_response", nil),
      (Script.Answer(status: 503, headers: ["Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"]), "POST", "unexpected_response", 0.0),
      (Script.Answer(status: 500, body: "{\"code\":\"internal_error\"}"), "GET", "internal_error", nil),
      (
        Script.Answer(status: 401, body: "{\"error\":\"invalid_client\",\"error_description\":\"No such app\"}"), "GET", "invalid_client",
        nil
      ),
    ] as [(Script.Answer, String, String, Double?)]) func doesNotRepeat(
      _ answer: Script.Answer, _ method: String, _ code: String, _ retryAfter: Double?
    ) async throws
  {
    let script = try await Script([answer, Script.Answer()])
    let failure = try await error(HomeportError.self) { try await newClient(server: script.server).request(method, "/anything") }
    #expect(failure.code == code)
    #expect(failure.status == answer.status)
    #expect(failure.retryAfter == retryAfter)
    #expect(try await script.count() == 1)
  }

  @Test func saysThatAPageIsNotTheService() async throws {
    let portal = try await Script([Script.Answer(body: "<h1>Welcome to our Wi-Fi</h1>")])
    let failure = try await error(HomeportError.self) { _ = try await newClient(server: portal.server).status() }
    #expect(failure.code == "unexpected_response")
    #expect(failure.status == 0)
  }

  @Test func throwsTheNetworksErrorIfNoResponseArrives() async throws {
    let script = try await Script([Script.Answer(status: 0), Script.Answer()])
    await #expect(throws: URLError.self) { try await newClient(server: script.server).request("POST", "/anything") }
    #expect(try await script.count() == 1)
  }

  @Test func readsTimesWithAndWithoutFractions() async throws {
    struct Times: Decodable { let a, b: Date }
    let script = try await Script([Script.Answer(body: "{\"a\":\"2026-11-29T05:21:57.123Z\",\"b\":\"2026-11-29T05:21:57Z\"}")])
    let times = try await newClient(server: script.server).request("GET", "/", as: Times.self)
    #expect(abs(times.a.timeIntervalSince(times.b) - 0.123) < 0.001)
  }
}
