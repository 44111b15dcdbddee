import type { Block, EmailTexts, FactorName } from "./emails";

const TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });

const FACTORS: Record<FactorName, string> = {
  totp: "an authenticator app",
  recovery_codes: "new recovery codes",
  passkey: "a passkey",
};

const notMe = (link: string): Block[] => [
  "If this was not you, somebody else has access to your account. Sign out all devices and set a new password:",
  { link, label: "This was not me" },
];

export const en: EmailTexts = {
  greeting: "Hello,",
  footer: (brand, host) => `This email is about your account at ${brand} (${host}).`,
  operatorFooter: (host) => `You operate the service at ${host}.`,
  support: (contact) => `Do you need help? ${contact}`,
  imprint: (url) => `Imprint: ${url}`,
  onDevice: "If this was not you, sign out all devices on your account page.",
  emails: {
    password_reset: (to, { link, ttlMinutes }) => [
      "Reset your password",
      `We received a request to reset the password of your account (${to}).`,
      `Open this link to choose a new one. It works once, within ${ttlMinutes} minutes:`,
      { link, label: "Reset your password" },
      "If you did not ask for this, ignore this email: your password stays the same.",
    ],
    invitation: (to, { brand, link, expiresAt }) => [
      `Set up your account at ${brand}`,
      `There is an account for you (${to}) at ${brand}.`,
      `Open this link to choose a password or a passkey. It works once, until ${TIME.format(expiresAt)} UTC:`,
      { link, label: "Set up your account" },
      "If it no longer works, “Forgot your password?” on the sign-in page sends you a new one.",
      "If you did not expect this, ignore this email.",
    ],
    password_changed: (to, { accountUrl, notMeLink, providers }) => [
      "Your password was changed",
      `The password of your account (${to}) was changed.`,
      "If this was you, there is nothing to do.",
      "If it was not, somebody else can read your email or knows your password. Change the password of your mailbox first, then sign out all devices and set a new password:",
      { link: notMeLink, label: "This was not me" },
      ...linkedProviders(providers, accountUrl),
    ],
    email_verification: (to, { link, ttlHours, isAgain }) => [
      "Confirm your email address",
      isAgain
        ? `Our emails to ${to} did not reach you lately.`
        : `Somebody, most likely you, created an account for ${to}.`,
      `To confirm that this is your email, open this link within ${ttlHours} hours:`,
      { link, label: "Confirm your email address" },
      isAgain
        ? "Open it in a browser in which you are signed in."
        : "The page asks for the password that you chose. If you signed in with a provider instead, open the link in the same browser.",
      "If this was not you, do not confirm: nobody can then say that this address is theirs.",
    ],
    registered_already: (to, { forgotUrl }) => [
      "You already have an account",
      `Somebody, most likely you, tried to register with ${to}.`,
      "You already have an account, so you can sign in with it. If you forgot your password, set a new one:",
      { link: forgotUrl, label: "Set a new password" },
      "If this was not you, ignore this email: nothing has changed.",
    ],
    new_sign_in: (to, { client, network, at, notMeLink }) => [
      "New sign-in to your account",
      `Somebody signed in to your account (${to}) from a device that has not been used with it before.`,
      {
        facts: [
          ["Time", `${TIME.format(at)} UTC`],
          ["Device", client ?? "unknown"],
          ["Network", network ?? "unknown"],
        ],
      },
      "If this was you, there is nothing to do.",
      ...notMe(notMeLink),
    ],
    factor_added: (to, { factor, notMeLink }) => [
      "New sign-in method added",
      `You can now use ${FACTORS[factor]} to sign in to your account (${to}).`,
      ...notMe(notMeLink),
    ],
    factor_removed: (to, { factor, notMeLink }) => [
      "Sign-in method removed",
      REMOVED_FACTORS[factor](to),
      ...notMe(notMeLink),
    ],
    email_change_confirm: (to, { link, ttlHours }) => [
      "Confirm your new email address",
      `Somebody, most likely you, wants to use ${to} for their account. To confirm this, open this link within ${ttlHours} hours, signed in to that account:`,
      { link, label: "Confirm the new address" },
      "If this was not you, do not confirm: nothing changes.",
    ],
    email_in_use: (to, { forgotUrl }) => [
      "This email address is in use",
      `Somebody, most likely you, wants to use ${to} for another account.`,
      "You already have an account with this address, so that is not possible. Sign in to it, and change its address or delete it first. If you forgot your password, set a new one:",
      { link: forgotUrl, label: "Set a new password" },
      "If this was not you, ignore this email: nothing changes.",
    ],
    email_change_notice: (to, { newEmail, undoLink, undoDays }) => [
      "Change of your email address",
      `The email address of your account changes from ${to} to ${newEmail} once the new address is confirmed.`,
      "If this was you, there is nothing to do.",
      `If it was not, somebody else has access to your account. This link undoes the change and signs out all devices. It works until ${undoDays} days after the change:`,
      { link: undoLink, label: "This was not me" },
    ],
    email_changed: (to, { notMeLink }) => [
      "Your email address was changed",
      `The email address of your account is now ${to}. Use it to sign in.`,
      ...notMe(notMeLink),
    ],
    identity_linked: (to, { provider, hasPassword, notMeLink }) => [
      "New sign-in method added",
      `You can now sign in to your account (${to}) with ${provider}.`,
      ...(hasPassword
        ? []
        : [
            "Your account has no password: one that was set before the email was confirmed no longer works. You can set a new one.",
          ]),
      "If this was not you, somebody else has access to your account. Sign out all devices and set a new password, then remove the provider on your account page:",
      { link: notMeLink, label: "This was not me" },
    ],
    identity_unlinked: (to, { provider, byProvider, notMeLink }) => [
      "Sign-in method removed",
      byProvider
        ? `${provider} no longer signs you in to your account (${to}), because you have ended that there. Devices on which a provider had signed you in were signed out. Sign in another way, for example with your password.`
        : `${provider ?? "A sign-in provider"} was removed from your account (${to}), and all other devices were signed out.`,
      ...notMe(notMeLink),
    ],
    account_deleted: (to) => [
      "Your account was deleted",
      `Your account (${to}) was deleted, with its sessions, devices and settings. This cannot be undone.`,
      "A subscription that you bought in an app store continues until you cancel it there.",
      "If this was not you, somebody else had access to your account. Reply to this email.",
    ],
    rollout_halted: (_, { product, version, reason }) => [
      `The rollout of ${product} ${version} was halted`,
      `The service halted the rollout of ${product} ${version}. Nobody else is offered this version; those who have it keep it.`,
      { facts: [["Reason", reason]] },
      "Resume or end the rollout with the command homeport release. Client reports received so far are then no longer counted.",
    ],
    webhook_disabled: (_, { url, reason }) => [
      "A webhook endpoint was disabled",
      reason === "gone"
        ? "A webhook endpoint responded with 410 Gone. It no longer receives deliveries."
        : "A webhook endpoint has failed for five days without a success. It no longer receives deliveries.",
      { facts: [["URL", url]] },
      "Enable it in the console once it works again, and replay the missed deliveries. Events are kept for 30 days.",
    ],
    policy_loosened: (_, { product, before, after, at, auditUrl }) => [
      `The release policy of ${product} will be loosened`,
      `An admin has changed what releases of ${product} must have to be published. The change waits for 24 hours.`,
      {
        facts: [
          ["Time", `${TIME.format(at)} UTC`],
          ["Until then", before],
          ["From then on", after],
        ],
      },
      "If this is wrong, set the policy again before that time, and find out in the audit trail who changed it:",
      { link: auditUrl, label: "Open the audit trail" },
    ],
    publisher_added: (_, { name, product, ref, publisherUrl }) => [
      `${name} may publish ${product}`,
      `An admin has added a publisher: its CI jobs publish releases of ${product} without an API key. For release policies, it counts after 24 hours.`,
      {
        facts: [
          ["Publisher", name],
          ["Ref", ref],
        ],
      },
      "If this is wrong, remove the publisher, and find out in the audit trail who added it:",
      { link: publisherUrl, label: "Open the publisher" },
    ],
  },
};

const REMOVED_FACTORS: Record<FactorName, (to: string) => string> = {
  totp: (to) => `The authenticator app was removed from your account (${to}).`,
  recovery_codes: (to) => `The recovery codes of your account (${to}) were removed.`,
  passkey: (to) => `A passkey was removed from your account (${to}).`,
};

function linkedProviders(providers: { title: string; linkedAt: Date }[], accountUrl: string): Block[] {
  if (providers.length === 0) return [];
  return [
    "These providers can still sign in to your account. Remove any that you do not recognize on your account page:",
    { list: providers.map(({ title, linkedAt }) => `${title}, since ${linkedAt.toISOString().slice(0, 10)}`) },
    { link: accountUrl, label: "Open your account" },
  ];
}
