import Foundation

/// What the protocols of the service need. `AppleCryptography` is CryptoKit's.
public protocol Cryptography: Sendable {
  func sha256(_ data: Data) -> Data
  /// Whether an Ed25519 signature is valid (RFC 8032). A malformed key has no valid signature.
  func isValidSignature(_ signature: Data, of data: Data, publicKey: Data) -> Bool
}

/// 32 random bytes in base64url.
func randomText() -> String {
  var random = SystemRandomNumberGenerator()  // cryptographically secure on every platform
  return base64url(Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }))
}

func base64url(_ data: Data) -> String {
  data.base64EncodedString()
    .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
}

/// Decodes base64url without padding (RFC 4648, section 5).
func data(base64url text: String) -> Data? {
  let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
  return Data(base64Encoded: base64.padding(toLength: (base64.count + 3) / 4 * 4, withPad: "=", startingAt: 0))
}

func hex(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }
