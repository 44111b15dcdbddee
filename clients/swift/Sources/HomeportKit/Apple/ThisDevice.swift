#if canImport(UIKit) && canImport(DeviceCheck)
  import Foundation
  import UIKit

  extension PushRegistration {
    /// `accountId` is the `id` of `homeport.user()`.
    public convenience init(accountId: String, environment: Environment, homeport: Homeport) {
      let device = UIDevice.current
      let description = DeviceDescription(
        name: String(device.name.prefix(64)), model: device.model, osVersion: device.systemVersion,
        appVersion: Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String ?? "0",
        locale: Locale.preferredLanguages.first ?? "en", timeZone: TimeZone.current.identifier)
      #if targetEnvironment(simulator)
        let signer = SimulatorKey(accountId: accountId, secrets: homeport.secrets)
      #else
        let signer = AppAttest(accountId: accountId, secrets: homeport.secrets)
      #endif
      self.init(
        accountId: accountId, environment: environment, homeport: homeport, bundleId: Bundle.main.bundleIdentifier ?? "",
        description: description, signer: signer)
    }
  }
#endif
