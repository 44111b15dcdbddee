import SwiftUI

@main struct AcmeApp: App {
  @Environment(\.scenePhase) private var phase
  @StateObject private var account = Account()
  #if canImport(Sparkle)
    private let updates = Updates()
  #endif

  var body: some Scene {
    WindowGroup {
      AccountView().environmentObject(account)
    }
    .onChange(of: phase) { phase in
      if phase == .active { Task { await account.refresh() } }
    }
  }
}
