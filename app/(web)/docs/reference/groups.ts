import { allOperations, type Operation } from "./document";

/** The operations that one kind of client uses, on a page of their own. */
export type Group = { slug: string; title: string; intro: string; operations: Operation[] };

const INTROS = [
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

type Slug = (typeof INTROS)[number][0];

const BY_TAG: Record<string, Slug> = {
  OAuth: "desktop",
  Accounts: "web",
  Push: "ios",
  Billing: "billing",
  Sessions: "next-auth",
};

/** The groups in the order of the sidebar. */
export const GROUPS: readonly Group[] = INTROS.map(([slug, title, intro]) => ({
  slug,
  title,
  intro,
  operations: allOperations().filter((operation) => groupOf(operation) === slug),
}));

/** The group of an operation. Whatever is for nobody else is for operators. */
function groupOf({ path, tags: [tag] }: Operation): Slug {
  if (/^\/api\/subscription\/(status|purchases|token)$/.test(path)) return "web";
  if (path === "/.well-known/change-password" || path === "/.well-known/jwks.json") return "web";
  if (/^\/\.well-known\/(apple|assetlinks)/.test(path)) return "ios";
  if (/^\/\.well-known\/(passkey-endpoints|webauthn)$/.test(path)) return "factors";
  if (/^\/api\/(version|updates|download)(\/|$)/.test(path)) return "desktop";
  if (/^\/api\/auth\/(passkeys|factors)(\/|$)/.test(path)) return "factors";
  if (path.startsWith("/api/email/")) return "operators/mail";
  const subject = /^\/api\/admin\/(?:releases\/(?=rollouts))?(\w+)/.exec(path)?.[1];
  if (subject !== undefined) return INTROS.find(([slug]) => slug === `operators/${subject}`)?.[0] ?? "operators";
  return BY_TAG[tag] ?? "operators";
}

export function findGroup(slug: string): Group | undefined {
  return GROUPS.find((one) => one.slug === slug);
}

/** The URL of an operation in the reference. */
export function operationHref(operationId: string): string {
  const group = GROUPS.find(({ operations }) => operations.some((one) => one.operationId === operationId));
  return `/docs/${group?.slug ?? ""}#${operationId}`;
}
