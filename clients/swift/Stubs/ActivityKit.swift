import Foundation

public protocol ActivityAttributes: Decodable, Encodable {
  associatedtype ContentState: Decodable, Encodable, Hashable
}

public enum ActivityState: Sendable { case active, pending, ended, dismissed, stale }

public struct PushType: Sendable {
  public static var token: PushType { fatalError() }
}

public struct ActivityContent<State: Decodable & Encodable & Hashable>: @unchecked Sendable {
  public init(state: State, staleDate: Date?, relevanceScore: Double = 0) { fatalError() }
}

public final class Activity<Attributes: ActivityAttributes>: Identifiable, @unchecked Sendable {
  public struct Updates<Element>: AsyncSequence {
    public struct AsyncIterator: AsyncIteratorProtocol {
      public mutating func next() async -> Element? { fatalError() }
    }
    public func makeAsyncIterator() -> AsyncIterator { fatalError() }
  }

  public static var activities: [Activity<Attributes>] { fatalError() }
  public static var activityUpdates: Updates<Activity<Attributes>> { fatalError() }
  public static var pushToStartTokenUpdates: Updates<Data> { fatalError() }
  public static func request(
    attributes: Attributes, content: ActivityContent<Attributes.ContentState>, pushType: PushType? = nil
  ) throws -> Activity<Attributes> { fatalError() }

  public let id: String
  public let attributes: Attributes
  public var pushTokenUpdates: Updates<Data> { fatalError() }
  public var activityStateUpdates: Updates<ActivityState> { fatalError() }
  init() { fatalError() }
}
