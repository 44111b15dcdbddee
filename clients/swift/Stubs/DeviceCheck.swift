import Foundation

open class DCAppAttestService: NSObject {
  public class var shared: DCAppAttestService { fatalError() }
  public var isSupported: Bool { fatalError() }
  public func generateKey() async throws -> String { fatalError() }
  public func attestKey(_ keyId: String, clientDataHash: Data) async throws -> Data { fatalError() }
  public func generateAssertion(_ keyId: String, clientDataHash: Data) async throws -> Data { fatalError() }
}

public struct DCError: Error {
  public enum Code: Int, Sendable {
    case unknownSystemFailure, featureUnsupported, invalidInput, invalidKey, serverUnavailable
  }
  public init(_ code: Code, userInfo: [String: Any] = [:]) { fatalError() }
  public var code: Code { fatalError() }
}
