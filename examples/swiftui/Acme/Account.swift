import AuthenticationServices
import Foundation
import HomeportKit
import SwiftUI

/// Who is signed in, and what they have paid for. Offline, what the service said last holds until it expires.
@MainActor final class Account: ObservableObject {
  @Published private(set) var user: User?
  @Published private(set) var hasPro = false
  @Published private(set) var message: String?

  private let homeport = Homeport(server: URL(string: "https://api.example.com")!, clientId: "ios")
  private let file = URL.applicationSupportDirectory.appending(path: "entitlements.json")

  /// Call it when the app becomes active.
  func refresh() async {
    do {
      user = try await homeport.user()
      save(try await homeport.offlineEntitlements(audience: "com.example.acme"))
    } catch {
      // Offline, or signed out: the stored token decides.
    }
    check()
  }

  func signIn(_ browser: WebAuthenticationSession) async {
    do {
      try await homeport.signIn(browser, redirectURI: "com.example.acme:/callback")
      await refresh()
      message = nil
    } catch ASWebAuthenticationSessionError.canceledLogin {
      // The user has closed the browser.
    } catch {
      message = error.localizedDescription
    }
  }

  /// Call it right after a purchase: the service asks the provider, whose event may be on its way.
  func didPurchase() async {
    _ = try? await homeport.status(isFresh: true)
    await refresh()
  }

  func signOut() async {
    try? FileManager.default.removeItem(at: file)
    try? await homeport.signOut()
    user = nil
    check()
  }

  /// The password is empty if the user signs in without one, and has just done so. The App Store requires this inside the app.
  func delete(password: String) async {
    do {
      _ = try await homeport.deleteAccount(password: password.isEmpty ? nil : password)
      await signOut()
    } catch {
      message = error.localizedDescription
    }
  }

  private func check() {
    guard let data = try? Data(contentsOf: file), var stored = try? JSONDecoder().decode(OfflineEntitlements.self, from: data)
    else { return hasPro = false }
    hasPro = stored.ids()?.contains("pro") ?? false
    save(stored)  // with the time of this check
  }

  private func save(_ entitlements: OfflineEntitlements) {
    let folder = file.deletingLastPathComponent()
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try? JSONEncoder().encode(entitlements).write(to: file, options: .atomic)
  }
}
