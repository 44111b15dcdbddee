/** The emails that account holders get. */
export type EmailKind =
  | "password_reset"
  | "password_changed"
  | "email_verification"
  | "registered_already"
  | "identity_linked"
  | "identity_unlinked"
  | "account_deleted";

export type Email = { to: string; subject: string; text: string };

/** A link that resets the password. */
export function passwordResetEmail(to: string, { link, ttlMinutes }: { link: string; ttlMinutes: number }): Email {
  return compose(to, "Reset your password", [
    `We received a request to reset the password of your account (${to}).`,
    `Open this link to choose a new one. It works once, within ${ttlMinutes} minutes:`,
    "",
    link,
    "",
    "If you did not ask for this, ignore this email: your password stays the same.",
  ]);
}

/** `providers` lists the sign-in providers that still work after the change. */
export function passwordChangedEmail(
  to: string,
  { baseUrl, providers }: { baseUrl: string; providers: { title: string; linkedAt: Date }[] },
): Email {
  const linked = providers.map(({ title, linkedAt }) => `- ${title}, since ${linkedAt.toISOString().slice(0, 10)}`);
  return compose(to, "Your password was changed", [
    `The password of your account (${to}) was changed,`,
    "and all devices were signed out.",
    "",
    "If this was you, sign in with your new password.",
    "If it was not, somebody else can read your email. Change the password of",
    "your mailbox first, then reset this one:",
    "",
    `${baseUrl}/forgot`,
    ...(linked.length === 0
      ? []
      : [
          "",
          "These providers can still sign in to your account. Remove any that you do",
          "not recognize on your account page:",
          "",
          ...linked,
          "",
          `${baseUrl}/account`,
        ]),
  ]);
}

/** A link that verifies the email. */
export function verificationEmail(to: string, { link, ttlHours }: { link: string; ttlHours: number }): Email {
  return compose(to, "Confirm your email address", [
    `Somebody, most likely you, created an account for ${to}.`,
    `To confirm that this is your email, open this link within ${ttlHours} hours:`,
    "",
    link,
    "",
    "The page asks for the password that you chose. If you signed in with a",
    "provider instead, open the link in the same browser.",
    "",
    "If this was not you, do not confirm. Nobody can sign in until you do.",
  ]);
}

/** For a registration with an email that already has an account. */
export function registeredAlreadyEmail(to: string, { baseUrl }: { baseUrl: string }): Email {
  return compose(to, "You already have an account", [
    `Somebody, most likely you, tried to register with ${to}.`,
    "You already have an account, so you can sign in with it.",
    "If you forgot your password, set a new one:",
    "",
    `${baseUrl}/forgot`,
    "",
    "If this was not you, ignore this email: nothing has changed.",
  ]);
}

/** A sign-in provider was added. Without `hasPassword` the email says that the password no longer works. */
export function identityLinkedEmail(
  to: string,
  { baseUrl, provider, hasPassword }: { baseUrl: string; provider: string; hasPassword: boolean },
): Email {
  return compose(to, "New sign-in method added", [
    `You can now sign in with ${provider} to your account (${to}).`,
    ...(hasPassword
      ? []
      : [
          "Your account has no password: one that was set before the email was",
          "confirmed no longer works. You can set a new one.",
        ]),
    "",
    "If this was not you, somebody else has access to your account. Reset your",
    "password, then remove the provider on your account page:",
    "",
    `${baseUrl}/forgot`,
  ]);
}

/** A sign-in provider was removed. */
export function identityUnlinkedEmail(to: string, { baseUrl }: { baseUrl: string }): Email {
  return compose(to, "Sign-in method removed", [
    `A sign-in provider was removed from your account (${to}),`,
    "and all other devices were signed out.",
    "",
    "If this was not you, somebody else has access to your account. Reset your",
    "password:",
    "",
    `${baseUrl}/forgot`,
  ]);
}

/** The account was deleted. */
export function accountDeletedEmail(to: string): Email {
  return compose(to, "Your account was deleted", [
    `Your account (${to}) was deleted, with its sessions,`,
    "devices and settings. This cannot be undone.",
    "",
    "A subscription that you bought in an app store continues until you cancel it",
    "there.",
    "",
    "If this was not you, somebody else had access to your account. Reply to this",
    "email.",
  ]);
}

function compose(to: string, subject: string, lines: string[]): Email {
  return { to, subject, text: ["Hello,", "", ...lines].join("\n") };
}
