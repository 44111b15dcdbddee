/** The groups of operations: the end of the page's path, its title, and what is on it. */
export const INTROS = [
  [
    "desktop",
    "Desktop apps",
    "Update checks, update feeds, downloads, and the sign-in of native apps through the browser.",
  ],
  [
    "web",
    "Web app and accounts",
    "Registration, sign-in, the account's data, and its subscription. Native apps use these operations, too.",
  ],
  ["factors", "Passkeys and second factors", "Passkeys, authenticator apps and recovery codes."],
  ["ios", "iOS app", "Devices that receive notifications, and the files by which iOS and Android recognize your apps."],
  ["billing", "Billing provider", "The webhook that your billing provider calls. Two retired routes respond with 410."],
  [
    "operators",
    "Operators",
    "What the console and your release pipeline do, with a session that has a role or with an API key; and the health probe. API keys and the audit trail are here.",
  ],
  ["operators/accounts", "Operators: accounts", "Find customers, see what they have, and act for them."],
  [
    "operators/billing",
    "Operators: billing",
    "The inbox of the billing provider's events, and what they made of purchases.",
  ],
  ["operators/releases", "Operators: releases", "The release catalog, and how far its versions have spread."],
  ["operators/rollouts", "Operators: rollouts", "Schedules by which a version reaches more and more clients."],
  ["operators/uploads", "Operators: uploads", "Resumable uploads of the files of a release."],
  ["operators/push", "Operators: push", "Notifications, announcements and their deliveries."],
  [
    "operators/mail",
    "Operators: email",
    "The emails that wait to be sent, and the webhook of the provider that sends them.",
  ],
  ["operators/webhooks", "Operators: webhooks", "The endpoints that receive your own events, and their deliveries."],
  [
    "next-auth",
    "next-auth",
    "Routes that next-auth's client library calls by itself. Your code rarely calls them directly.",
  ],
] as const;

const OVERVIEW = ["", "Overview", "How to authenticate, and what every operation has in common."] as const;
const OTHERS = [
  ["webhooks", "Webhook events", "What the service sends to your own endpoints."],
  ["schemas", "Schemas", "The objects that several operations send or receive."],
  ["errors", "Errors", "Every code of an error, and what to do about it."],
] as const;

/** The pages of the reference, in the order of the sidebar. */
export const PAGES = [OVERVIEW, ...INTROS, ...OTHERS].map(([slug, title, intro]) => {
  const path = slug === "" ? "/docs" : `/docs/${slug}`;
  return { slug, title, intro, path, markdown: `${path}.md` };
});
