import Foundation
import Sparkle

/// Sends an installation id with Sparkle's requests, which staged rollouts need.
public final class HomeportUpdaterDelegate: NSObject, SPUUpdaterDelegate {
  private let installationId: String

  /// `installationId` is a string that the app generates once and stores.
  public init(installationId: String) { self.installationId = installationId }

  public func feedParameters(for updater: SPUUpdater, sendingSystemProfile: Bool) -> [[String: String]] {
    [["key": "clientId", "value": installationId, "displayKey": "Installation", "displayValue": installationId]]
  }
}
