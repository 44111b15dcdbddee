@_exported import Foundation

@MainActor open class UIResponder: NSObject {}

@MainActor open class UIDevice: NSObject {
  public class var current: UIDevice { fatalError() }
  public var name: String { fatalError() }
  public var model: String { fatalError() }
  public var systemVersion: String { fatalError() }
}

@MainActor open class UIApplication: UIResponder {
  public struct LaunchOptionsKey: Hashable, Sendable {}
  public enum State: Int, Sendable { case active, inactive, background }
  public class var shared: UIApplication { fatalError() }
  public nonisolated class var didBecomeActiveNotification: NSNotification.Name { fatalError() }
  public var applicationState: State { fatalError() }
  public func registerForRemoteNotifications() { fatalError() }
}

public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }

@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
  func application(
    _ application: UIApplication, didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool
  func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
  func application(_ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error)
  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void)
}

extension UIApplicationDelegate {
  public static func main() { fatalError() }
}
