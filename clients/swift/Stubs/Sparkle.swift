import Foundation

open class SPUUpdater: NSObject {}

public protocol SPUUpdaterDelegate: NSObjectProtocol {
  @MainActor func feedParameters(for updater: SPUUpdater, sendingSystemProfile sendingProfile: Bool) -> [[String: String]]
}

public protocol SPUStandardUserDriverDelegate: NSObjectProtocol {}

@MainActor open class SPUStandardUpdaterController: NSObject {
  public init(
    startingUpdater: Bool, updaterDelegate: (any SPUUpdaterDelegate)?,
    userDriverDelegate: (any SPUStandardUserDriverDelegate)?
  ) { fatalError() }
}
