import AuthenticationServices
import SwiftUI

struct AccountView: View {
  @Environment(\.webAuthenticationSession) private var browser
  @EnvironmentObject private var account: Account

  var body: some View {
    VStack(spacing: 16) {
      if let user = account.user {
        Text(user.email)
        Button("Sign out") { Task { await account.signOut() } }
      } else {
        Button("Sign in") { Task { await account.signIn(browser) } }
      }
      if account.hasPro { Text("Pro: the feature that stays open offline.") }
    }
    .padding()
  }
}
