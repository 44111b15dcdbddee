import Foundation

public struct UNAuthorizationOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let badge = Self(rawValue: 1), sound = Self(rawValue: 2), alert = Self(rawValue: 4)
}

public struct UNNotificationPresentationOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let sound = Self(rawValue: 2), list = Self(rawValue: 8), banner = Self(rawValue: 16)
}

public let UNNotificationDefaultActionIdentifier = "com.apple.UNNotificationDefaultActionIdentifier"

open class UNNotificationContent: NSObject { public var userInfo: [AnyHashable: Any] { fatalError() } }
open class UNNotificationRequest: NSObject { public var content: UNNotificationContent { fatalError() } }
open class UNNotification: NSObject { public var request: UNNotificationRequest { fatalError() } }
open class UNNotificationResponse: NSObject {
  public var notification: UNNotification { fatalError() }
  public var actionIdentifier: String { fatalError() }
}

open class UNUserNotificationCenter: NSObject {
  public class func current() -> UNUserNotificationCenter { fatalError() }
  public weak var delegate: (any UNUserNotificationCenterDelegate)?
  public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool { fatalError() }
}

public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void)
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
    withCompletionHandler completionHandler: @escaping @Sendable () -> Void)
}
