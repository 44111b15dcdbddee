import Foundation

public struct SHA256Digest: Sequence, Sendable {
  public func makeIterator() -> IndexingIterator<[UInt8]> { fatalError() }
}

public enum SHA256 {
  public static func hash<D: DataProtocol>(data: D) -> SHA256Digest { fatalError() }
}

public enum Curve25519 {
  public enum Signing {
    public struct PublicKey: Sendable {
      public init<D: ContiguousBytes>(rawRepresentation: D) throws { fatalError() }
      public func isValidSignature<S: DataProtocol, D: DataProtocol>(_ signature: S, for data: D) -> Bool { fatalError() }
    }
  }
}

public enum P256 {
  public enum Signing {
    public struct PublicKey: Sendable {
      public var x963Representation: Data { fatalError() }
    }
    public struct ECDSASignature: Sendable {
      public var derRepresentation: Data { fatalError() }
    }
    public struct PrivateKey: Sendable {
      public init(compactRepresentable: Bool = true) { fatalError() }
      public init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws { fatalError() }
      public var publicKey: PublicKey { fatalError() }
      public var rawRepresentation: Data { fatalError() }
      public func signature<D: DataProtocol>(for data: D) throws -> ECDSASignature { fatalError() }
    }
  }
}
