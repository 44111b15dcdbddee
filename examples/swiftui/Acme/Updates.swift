#if os(macOS)
  import Foundation
  import HomeportSparkle
  import Sparkle

  /// Updates by Sparkle, from `SUFeedURL` in Info.plist.
  @MainActor final class Updates {
    /// Sparkle does not retain it.
    private let delegate: HomeportUpdaterDelegate
    private let controller: SPUStandardUpdaterController

    init() {
      let delegate = HomeportUpdaterDelegate(installationId: Updates.installationId())
      self.delegate = delegate
      controller = SPUStandardUpdaterController(
        startingUpdater: true, updaterDelegate: delegate, userDriverDelegate: nil)
    }

    /// Keeps the app's place in a staged rollout.
    private static func installationId() -> String {
      let stored = UserDefaults.standard.string(forKey: "installationId") ?? UUID().uuidString
      UserDefaults.standard.set(stored, forKey: "installationId")
      return stored
    }
  }
#endif
