import Foundation
import SwiftUI

open class ASWebAuthenticationSession: NSObject {
  public final class Callback: NSObject {
    public class func customScheme(_ customScheme: String) -> ASWebAuthenticationSession.Callback { fatalError() }
    public class func https(host: String, path: String) -> ASWebAuthenticationSession.Callback { fatalError() }
  }
}

@MainActor public struct WebAuthenticationSession: Sendable {
  public struct BrowserSession: Sendable {}
  public func authenticate(
    using url: URL, callbackURLScheme: String, preferredBrowserSession: BrowserSession? = nil
  ) async throws -> URL { fatalError() }
  public func authenticate(
    using url: URL, callback: ASWebAuthenticationSession.Callback, preferredBrowserSession: BrowserSession? = nil,
    additionalHeaderFields: [String: String]
  ) async throws -> URL { fatalError() }
}

extension EnvironmentValues {
  public var webAuthenticationSession: WebAuthenticationSession { fatalError() }
}

/// What the importer makes of an Objective-C error enumeration: a pattern of it matches any error.
public protocol ErrorCode: RawRepresentable, Equatable, Sendable {}
extension ErrorCode {
  public static func ~= (code: Self, error: any Error) -> Bool { fatalError() }
}

public struct ASAuthorizationError: Error {
  public enum Code: Int, ErrorCode { case unknown = 1000, canceled, invalidResponse, notHandled, failed }
  public static let canceled = Code.canceled
  public init(_ code: Code, userInfo: [String: Any] = [:]) { fatalError() }
}

public struct ASWebAuthenticationSessionError: Error {
  public enum Code: Int, ErrorCode { case canceledLogin = 1, presentationContextNotProvided, presentationContextInvalid }
  public static let canceledLogin = Code.canceledLogin
}

open class ASAuthorization: NSObject {
  public struct Scope: Hashable, Sendable {
    public static let fullName = Scope(), email = Scope()
  }
  public var provider: any ASAuthorizationProvider { fatalError() }
  public var credential: any ASAuthorizationCredential { fatalError() }
}

public protocol ASAuthorizationProvider: NSObjectProtocol {}
public protocol ASAuthorizationCredential: NSObjectProtocol {}

open class ASAuthorizationRequest: NSObject {}
open class ASAuthorizationOpenIDRequest: ASAuthorizationRequest {
  public var requestedScopes: [ASAuthorization.Scope]?
  public var nonce: String?
}
open class ASAuthorizationAppleIDRequest: ASAuthorizationOpenIDRequest {}

open class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential {
  public var identityToken: Data? { fatalError() }
  public var authorizationCode: Data? { fatalError() }
  public var fullName: PersonNameComponents? { fatalError() }
}

public struct SignInWithAppleButton: View {
  public struct Label: Sendable {
    public static let signIn = Label(), `continue` = Label(), signUp = Label()
  }
  public init(
    _ label: Label = .signIn, onRequest: @escaping (ASAuthorizationAppleIDRequest) -> Void,
    onCompletion: @escaping (Result<ASAuthorization, any Error>) -> Void
  ) { fatalError() }
  public var body: Never { fatalError() }
}

/// Of Foundation, which has it on Apple's platforms alone.
extension PersonNameComponents {
  public func formatted() -> String { fatalError() }
}
