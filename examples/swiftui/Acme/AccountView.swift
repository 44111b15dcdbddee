import AuthenticationServices
import SwiftUI

struct AccountView: View {
  @Environment(\.webAuthenticationSession) private var browser
  @EnvironmentObject private var account: Account
  @State private var password = ""

  var body: some View {
    VStack(spacing: 16) {
      if let user = account.user {
        Text(user.email)
        Button("Sign out") { Task { await account.signOut() } }
        SecureField("Password", text: $password)
        Button("Delete the account") { Task { await account.delete(password: password) } }
      } else {
        Button("Sign in") { Task { await account.signIn(browser) } }
      }
      if account.hasPro { Text("Pro: the feature that stays open offline.") }
      if let message = account.message { Text(message) }
    }
    .padding()
  }
}
