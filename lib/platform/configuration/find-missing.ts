import type { Context } from "../../context";

/** A part of the service that is not set up: what does not work without it, the variables, and the guide. */
export type MissingPart = { part: string; effect: string; variables: string[]; guide: string };

type Deps = Pick<Context, "billing" | "config" | "mailer" | "push">;

/** The parts that are not set up. Every one is optional. A provider does not know a secret that was `generated`. */
export function findMissing({ billing, config, mailer, push }: Deps, generated: ReadonlySet<string>): MissingPart[] {
  const isLocal = /^https?:\/\/(localhost|127\.)/.test(config.baseUrl);
  const hasWebhook =
    (config.BILLING_WEBHOOK_SIGNING_SECRET !== undefined && !generated.has("BILLING_WEBHOOK_SIGNING_SECRET")) ||
    [
      config.BILLING_WEBHOOK_AUTHORIZATION,
      config.BILLING_STRIPE_WEBHOOK_SECRET,
      config.BILLING_PADDLE_WEBHOOK_SECRET,
      config.BILLING_APP_STORE_APPS,
    ].some(({ length }) => length > 0);
  const hasProvider = [config.AUTH_GOOGLE_ID, config.AUTH_APPLE_ID, config.AUTH_GITHUB_ID].some(Boolean);
  const parts: (MissingPart | false)[] = [
    isLocal && {
      part: "The public URL",
      effect: "Links in emails lead to this machine.",
      variables: ["NEXTAUTH_URL"],
      guide: "docs/deploy.md",
    },
    mailer.mode !== "smtp" && {
      part: "Email",
      effect: "Verifications, password resets and security notices do not reach anybody.",
      variables: ["SMTP_URL", "MAIL_FROM"],
      guide: "docs/guides/emails.md",
    },
    config.OPERATOR_EMAIL.length === 0 && {
      part: "Notices for operators",
      effect: "Emails about the service go to the accounts with the role admin.",
      variables: ["OPERATOR_EMAIL"],
      guide: "docs/guides/rollouts.md",
    },
    !hasProvider && {
      part: "Sign-in providers",
      effect: "Customers sign in with a password or a passkey.",
      variables: ["AUTH_GOOGLE_ID", "AUTH_APPLE_ID", "AUTH_GITHUB_ID"],
      guide: "docs/guides/sign-in.md",
    },
    !hasWebhook && {
      part: "The billing webhook",
      effect: "Only deliveries with the generated secret are accepted.",
      variables: ["BILLING_WEBHOOK_AUTHORIZATION", "BILLING_WEBHOOK_SIGNING_SECRET"],
      guide: "docs/guides/billing.md",
    },
    billing === null && {
      part: "The billing provider’s API",
      effect: "Missed events are not recovered.",
      variables: ["BILLING_API_KEY"],
      guide: "docs/guides/billing.md",
    },
    config.APNS_KEY === undefined && {
      part: "Push",
      effect: push === null ? "Notifications are sent only to browsers." : "Notifications are written to files.",
      variables: ["APNS_KEY", "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_IDS"],
      guide: "docs/guides/push.md",
    },
  ];
  return parts.filter((part) => part !== false);
}
