import type { Context } from "../context";
import { type Config, Environment, loadConfig } from "./config";
import { isSecret } from "./config/secrets";
import { readSecrets } from "./embedded-secrets";

/**
 * A variable and its value in force. `value` and `source` are null if it has no value; the `value` of a secret is "Set".
 */
export type Setting = { name: string; value: string | null; isSecret: boolean; source: Source | null };
type Source = "default" | "environment" | "generated";
type SettingGroup = { title: string; settings: Setting[] };

/** Groups variables by the beginning of their names. The last group has all others. */
const GROUPS: readonly [title: string, names: RegExp][] = [
  ["Accounts and sign-in", /^(AUTH|NEXTAUTH|OAUTH|BCRYPT|FIRST_OPERATOR)/],
  ["Email", /^(SMTP|MAIL|OPERATOR_EMAIL)/],
  ["Billing", /^BILLING/],
  ["Releases", /^RELEASE/],
  ["Push", /^(APNS|APP_ATTEST|PUSH)/],
  ["Brand", /^BRAND/],
  ["Backups", /^BACKUP/],
  ["Service", /^/],
];

/** The variables whose values in force embedded mode has generated. */
export async function findGenerated(config: Config): Promise<ReadonlySet<string>> {
  const stored = config.mode === "embedded" ? await readSecrets(config.DATA_DIR) : null;
  const isStored = {
    NEXTAUTH_SECRET: config.secrets?.[0] === stored?.secrets[0],
    BILLING_WEBHOOK_SIGNING_SECRET: config.BILLING_WEBHOOK_SIGNING_SECRET === stored?.billingWebhookSigningSecret,
  };
  return new Set(stored ? Object.entries(isStored).flatMap(([name, is]) => (is ? [name] : [])) : []);
}

/** The configuration in force by subject: every variable, and of secrets only whether they are set. See `findGenerated`. */
export function describeConfiguration(config: Config, generated: ReadonlySet<string>): SettingGroup[] {
  const { MAIL_FROM, UPDATE_CHECK_URL } = loadConfig({ BRAND_NAME: config.BRAND_NAME });
  const defaults: Record<string, unknown> = {
    ...Environment.parse({}),
    NEXTAUTH_URL: `http://localhost:${config.PORT}`,
    MAIL_FROM,
    UPDATE_CHECK_URL,
  };
  const values: Record<string, unknown> = { ...config, NEXTAUTH_URL: config.baseUrl, NEXTAUTH_SECRET: config.secrets };
  const groups = GROUPS.map(([title]): SettingGroup => ({ title, settings: [] }));
  for (const name of Object.keys(Environment.shape).sort()) {
    const value = values[name];
    const isHidden = isSecret(name) || name === "BILLING_SANDBOX_TESTERS" || hasCredentials(value);
    const shown = textOf(value, isHidden);
    const isDefault = JSON.stringify(value) === JSON.stringify(defaults[name]);
    const given = isDefault ? "default" : "environment";
    const source = shown === null ? null : generated.has(name) ? "generated" : given;
    const at = GROUPS.findIndex(([, names]) => names.test(name));
    groups[at]?.settings.push({ name, value: shown, isSecret: isHidden, source });
  }
  return groups;
}

function textOf(value: unknown, isSecret: boolean): string | null {
  const isEmpty = value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
  if (isEmpty) return null;
  if (isSecret) return "Set";
  if (typeof value === "boolean") return value ? "true" : "false";
  if (value instanceof Map) return value.size === 0 ? null : JSON.stringify(Object.fromEntries(value));
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Whether a value is a URL with a user or a password, or a key in PEM. */
function hasCredentials(value: unknown): boolean {
  if (typeof value !== "string") return false;
  if (value.includes("PRIVATE KEY")) return true;
  return URL.canParse(value) && (new URL(value).username !== "" || new URL(value).password !== "");
}

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
