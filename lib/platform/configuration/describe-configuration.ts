import { type Config, Environment, loadConfig } from "../config";
import { readSecrets } from "../embedded-secrets";

/**
 * A variable and its value in force. `value` and `source` are null if it has no value; the `value` of a secret is "Set".
 */
export type Setting = { name: string; value: string | null; isSecret: boolean; source: Source | null };
type Source = "default" | "environment" | "generated";
export type SettingGroup = { title: string; settings: Setting[] };

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
/** URLs of databases and mail servers have a password in them. */
const SECRETS = /SECRET|TOKEN|PASSWORD(?!_MIN)|_KEY$|ACCESS_KEY|AUTHORIZATION|^DATABASE_\w*URL$|^SMTP_URL$|_TESTERS$/;

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
  const defaults: Record<string, unknown> = {
    ...Environment.parse({}),
    NEXTAUTH_URL: `http://localhost:${config.PORT}`,
    MAIL_FROM: loadConfig({ BRAND_NAME: config.BRAND_NAME }).MAIL_FROM,
  };
  const values: Record<string, unknown> = { ...config, NEXTAUTH_URL: config.baseUrl, NEXTAUTH_SECRET: config.secrets };
  const groups = GROUPS.map(([title]): SettingGroup => ({ title, settings: [] }));
  for (const name of Object.keys(Environment.shape).sort()) {
    const value = values[name];
    const isSecret = SECRETS.test(name) || hasCredentials(value);
    const shown = textOf(value, isSecret);
    const isDefault = JSON.stringify(value) === JSON.stringify(defaults[name]);
    const given = isDefault ? "default" : "environment";
    const source = shown === null ? null : generated.has(name) ? "generated" : given;
    const at = GROUPS.findIndex(([, names]) => names.test(name));
    groups[at]?.settings.push({ name, value: shown, isSecret, source });
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
