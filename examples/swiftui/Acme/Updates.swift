#if canImport(Sparkle)
  import Foundation
  import Sparkle

  /// Updates by Sparkle, from `SUFeedURL` in Info.plist.
  @MainActor final class Updates: NSObject, SPUUpdaterDelegate {
    private var controller: SPUStandardUpdaterController?

    override init() {
      super.init()
      controller = SPUStandardUpdaterController(startingUpdater: true, updaterDelegate: self, userDriverDelegate: nil)
    }

    /// Sends an installation id, which keeps the app's place in a staged rollout.
    func feedParameters(for updater: SPUUpdater, sendingSystemProfile: Bool) -> [[String: String]] {
      let id = UserDefaults.standard.string(forKey: "installationId") ?? UUID().uuidString
      UserDefaults.standard.set(id, forKey: "installationId")
      return [["key": "clientId", "value": id, "displayKey": "Installation", "displayValue": id]]
    }
  }
#endif
