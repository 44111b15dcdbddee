import { readFileSync } from "node:fs";
import { z } from "zod";
import { backupVariables, folderOrBucket } from "./config/backups";
import { appStoreApps, managementUrls, productEntitlements, stripeSecrets } from "./config/billing";
import { brandName, color, logo, productNames, support, webPage } from "./config/brand";
import { postgresUrl } from "./config/database";
import { Network } from "./config/networks";
import { oauthClients } from "./config/oauth-clients";
import { isSecret, secretOf } from "./config/secrets";
import { trustedRoots } from "./config/sigstore";
import {
  appleSecret,
  baseUrl,
  certificate,
  flag,
  headerKey,
  httpsOrigins,
  httpUrl,
  isCatalog,
  list,
  origins,
  port,
  REMOVED_SETTINGS,
  secretRing,
  securityContacts,
  signingKey,
  text,
  trustedUrl,
} from "./config/values";
import { PUSH_SERVICE_HOSTS, vapidPrivateKey } from "./config/web-push";
import { fieldMessage } from "./field-message";

const DOMAIN = /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)*[a-z](?:[a-z\d-]{0,61}[a-z\d])?$/;

/** `AUTH_PASSKEY_RP_ID`: the domain that passkeys belong to. */
const domain = z.string().trim().toLowerCase().regex(DOMAIN, "must be a domain, such as example.com");

/** `AUTH_PASSKEY_APPLE_APPS`: app IDs, each a team ID and a bundle ID. */
const appleApps = list.pipe(
  z.array(z.string().regex(/^[A-Z\d]{10}\.[\w.-]+$/, "must be a team ID and a bundle ID: ABCDE12345.com.example.app")),
);

/** An Android app, and the SHA-256 fingerprint of the certificate that signs it. */
type AndroidApp = { packageName: string; fingerprint: string };

/** `AUTH_PASSKEY_ANDROID_APPS`: package names, each with a fingerprint as `keytool` and Google Play print it. */
const androidApps = list.pipe(
  z.array(
    z
      .string()
      .regex(/^[\w.]+=[\dA-F]{2}(?::[\dA-F]{2}){31}$/i, "must be a package and a SHA-256: com.example.app=14:6D:E9:…")
      .transform((entry): AndroidApp => {
        const [packageName = "", fingerprint = ""] = entry.split("=");
        return { packageName, fingerprint: fingerprint.toUpperCase() };
      }),
  ),
);

/** Every environment variable of the service. `.env.example` lists them all. */
export const Environment = z.object({
  PORT: port.default(3000),
  HOST: text.default("0.0.0.0"),
  DATA_DIR: text.default("./data"),
  SHUTDOWN_DELAY_SECONDS: z.coerce.number().int().min(0).max(60).default(0),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  METRICS_PORT: port.min(1).optional(),
  METRICS_HOST: text.default("127.0.0.1"),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_SERVICE_NAME: text.default("homeport"),
  UPDATE_CHECK: z.enum(["on", "off"]).default("off"),
  UPDATE_CHECK_URL: trustedUrl.optional(),
  DATABASE_SYNC: z.enum(["on", "off"]).default("on"),
  DATABASE_URL: postgresUrl.optional(),
  DATABASE_MIGRATE_URL: postgresUrl.optional(),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(1).max(1000).default(10),
  ...backupVariables,
  NEXTAUTH_URL: baseUrl.optional(),
  NEXTAUTH_SECRET: secretRing.optional(),
  AUTH_PASSWORD_MIN: z.coerce.number().int().min(8).max(64).default(8),
  AUTH_BREACH_CHECK: flag.default(false),
  AUTH_BREACH_CHECK_URL: httpUrl.default("https://api.pwnedpasswords.com/range"),
  AUTH_TRUSTED_ORIGINS: origins.default([]),
  AUTH_REQUIRE_VERIFIED_EMAIL: flag.default(false),
  CONSENT_WITHDRAWAL_SUSPENDS: flag.default(false),
  AUTH_SESSION_CONTEXT: flag.default(false),
  AUTH_LEAVING_NOTICE: flag.default(false),
  AUTH_HUMAN_PACE: flag.default(false),
  AUTH_LINKS_NEED_CODE: flag.default(false),
  AUTH_GOOGLE_ID: text.optional(),
  AUTH_GOOGLE_SECRET: text.optional(),
  AUTH_GOOGLE_NATIVE_IDS: list.default([]),
  AUTH_GOOGLE_ISSUER: baseUrl.default("https://accounts.google.com"),
  AUTH_APPLE_ID: text.optional(),
  AUTH_APPLE_SECRET: appleSecret.optional(),
  AUTH_APPLE_TEAM_ID: text.optional(),
  AUTH_APPLE_KEY_ID: text.optional(),
  AUTH_APPLE_NATIVE_IDS: list.default([]),
  AUTH_APPLE_ISSUER: baseUrl.default("https://appleid.apple.com"),
  AUTH_GITHUB_ID: text.optional(),
  AUTH_GITHUB_SECRET: text.optional(),
  AUTH_GITHUB_ISSUER: baseUrl.default("https://github.com"),
  AUTH_PASSKEY_RP_ID: domain.optional(),
  PASSKEY_RELATED_ORIGINS: httpsOrigins.default([]),
  AUTH_PASSKEY_APPLE_APPS: appleApps.default([]),
  AUTH_PASSKEY_ANDROID_APPS: androidApps.default([]),
  OAUTH_CLIENTS: oauthClients.default([]),
  BCRYPT_COST: z.coerce.number().int().min(10).max(15).default(12),
  /** In MiB: of one imported hash. */
  PASSWORD_IMPORT_MEMORY: z.coerce.number().int().min(64).max(1_024).default(64),
  CORS_ALLOWED_ORIGINS: origins.default([]),
  HSTS_INCLUDE_SUBDOMAINS: flag.default(true),
  TRUSTED_PROXY_HOPS: z.coerce.number().int().min(0).max(10).default(0),
  RATE_LIMITS: z.enum(["on", "off"]).default("on"),
  INSTALL_PAGE: z.enum(["on", "off"]).default("on"),
  SERVICE_VERSION: z.enum(["on", "off"]).default("on"),
  SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  MAIL_OUTBOX: flag.optional(),
  WEBHOOK_ALLOWED_NETWORKS: list.pipe(z.array(Network)).default([]),
  OPERATOR_EMAIL: list.pipe(z.array(z.email())).default([]),
  SECURITY_CONTACT: securityContacts.default([]),
  MAIL_FROM: text.optional(),
  EMAIL_EVENTS_SECRET: list.pipe(z.array(z.string().min(16, "must have at least 16 characters"))).default([]),
  BRAND_NAME: brandName.default("Homeport"),
  BRAND_PRODUCTS: productNames.default(new Map()),
  BRAND_COLOR: color.optional(),
  BRAND_COLOR_DARK: color.optional(),
  BRAND_LOGO: logo.optional(),
  BRAND_LOGO_DARK: logo.optional(),
  BRAND_SUPPORT: support.optional(),
  BRAND_TERMS_URL: webPage.optional(),
  BRAND_PRIVACY_URL: webPage.optional(),
  BRAND_IMPRINT_URL: webPage.optional(),
  BILLING_PROVIDER: z.enum(["revenuecat", "standard-webhooks"]).default("revenuecat"),
  BILLING_WEBHOOK_AUTHORIZATION: list.default([]),
  BILLING_WEBHOOK_SIGNING_SECRET: text.optional(),
  BILLING_STRIPE_WEBHOOK_SECRET: stripeSecrets.default([]),
  BILLING_PADDLE_WEBHOOK_SECRET: list.default([]),
  BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET: list.default([]),
  BILLING_APP_STORE_APPS: appStoreApps.default([]),
  BILLING_APP_STORE_ROOT_CA: certificate.optional(),
  BILLING_PRODUCTS: productEntitlements.default(new Map()),
  BILLING_MANAGEMENT_URLS: managementUrls.default(new Map()),
  BILLING_SANDBOX_ENTITLES: flag.default(false),
  BILLING_SANDBOX_TESTERS: list.default([]),
  BILLING_STALE_LEEWAY_SECONDS: z.coerce.number().int().min(0).max(604_800).default(3600),
  BILLING_TOKEN_TTL_SECONDS: z.coerce.number().int().min(300).max(7_776_000).default(604_800),
  BILLING_TOKEN_GRACE_SECONDS: z.coerce.number().int().min(0).max(2_592_000).default(259_200),
  RELEASE_CATALOG: text.refine(isCatalog, "must be a path, an https URL, or an http URL on this machine").optional(),
  RELEASE_ADOPTION: z.enum(["on", "off"]).default("on"),
  RELEASE_SOURCE_PUBLIC: z.enum(["on", "off"]).default("off"),
  RELEASE_UPLOAD_MAX_BYTES: z.coerce.number().int().min(1).default(5_368_709_120),
  RELEASE_MIRROR: folderOrBucket.optional(),
  RELEASE_MIRROR_URL: baseUrl.optional(),
  RELEASE_S3_ENDPOINT: httpUrl.optional(),
  RELEASE_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i, "must be a bucket's name")
    .optional(),
  RELEASE_S3_REGION: text.optional(),
  RELEASE_S3_ACCESS_KEY_ID: text.optional(),
  RELEASE_S3_SECRET_ACCESS_KEY: text.optional(),
  SIGSTORE_TRUSTED_ROOT: trustedRoots.optional(),
  APP_ATTEST_ROOT_CA: certificate.optional(),
  APP_ATTEST_ALLOW_UNPROTECTED_MACS: flag.default(false),
  APP_ATTEST_API_KEY: signingKey.optional(),
  APP_ATTEST_API_KEY_ID: text.optional(),
  APP_ATTEST_API_URL: z.url({ protocol: /^https?$/ }).optional(),
  APNS_KEY: signingKey.optional(),
  APNS_KEY_ID: text.optional(),
  APNS_TEAM_ID: text.regex(/^[A-Z0-9]{10}$/, "must be ten capital letters and digits").optional(),
  BILLING_API_KEY: headerKey.optional(),
  BILLING_API_URL: httpUrl.default("https://api.revenuecat.com/v1"),
  BILLING_STRIPE_API_KEY: headerKey.optional(),
  BILLING_STRIPE_API_URL: httpUrl.default("https://api.stripe.com"),
  BILLING_PADDLE_API_KEY: headerKey.optional(),
  BILLING_PADDLE_API_URL: httpUrl.optional(),
  BILLING_APP_STORE_KEY: signingKey.optional(),
  BILLING_APP_STORE_KEY_ID: text.optional(),
  BILLING_APP_STORE_ISSUER_ID: text.optional(),
  BILLING_APP_STORE_API_URL: httpUrl.default("https://api.storekit.apple.com"),
  BILLING_FRESH_TIMEOUT_MS: z.coerce.number().int().min(0).max(5_000).default(300),
  BILLING_PAYLOAD_RETENTION_DAYS: z.coerce.number().int().min(1).max(36_500).optional(),
  APNS_BUNDLE_IDS: list.pipe(z.array(text).min(1)).default(["com.example.homeport"]),
  APNS_HOST: text.optional(),
  APNS_PORT: port.min(1).default(443),
  APNS_CA: certificate.optional(),
  VAPID_PRIVATE_KEY: vapidPrivateKey.optional(),
  VAPID_SUBJECT: z.url({ protocol: /^(https|mailto)$/ }).optional(),
  WEB_PUSH_HOSTS: list.default(PUSH_SERVICE_HOSTS),
  WEB_PUSH_ALLOWED_NETWORKS: list.pipe(z.array(Network)).default([]),
  WEB_PUSH_CA: certificate.optional(),
  PUSH_CONCURRENCY: z.coerce.number().int().min(1).max(1000).default(1000),
  PUSH_WORKER: z.enum(["inline", "off"]).default("inline"),
});
type Environment = z.infer<typeof Environment>;

/** The whole configuration, read once at the start and frozen. `mode` is "server" if `DATABASE_URL` is set. */
export type Config = Readonly<
  Omit<Environment, "NEXTAUTH_URL" | "NEXTAUTH_SECRET" | "MAIL_FROM"> & {
    mode: "embedded" | "server";
    MAIL_FROM: string;
    /** The base URL of every link, without a trailing slash. */
    baseUrl: string;
    /** The secrets of sessions and stored keys, the one that encrypts first. Embedded mode generates it once. */
    secrets: readonly [string, ...string[]] | undefined;
    /** The file of Node's own NODE_EXTRA_CA_CERTS. */
    extraCaFile: string | undefined;
    build: Build;
    /** The settings that are set and no longer exist, with what replaces them. */
    removed: readonly { setting: string; instead: string }[];
  }
>;

/** The configuration is not valid. The message lists every error on its own line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly code = "configuration_invalid";
}

/** What concerns several variables. */
const CHECKS = [
  serverModeErrors,
  storageErrors,
  backupErrors,
  providerErrors,
  apnsErrors,
  appAttestErrors,
  appStoreApiErrors,
  signingKeyErrors,
  relyingPartyErrors,
  brandErrors,
  updateCheckErrors,
];

/**
 * Reads the environment, and the files of secrets. An empty variable counts as unset.
 * @throws ConfigError with every missing or invalid variable
 */
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  const files = readSecretFiles(env);
  const given = Object.fromEntries(Object.entries({ ...env, ...files.secrets }).filter(([, value]) => value?.trim()));
  const parsed = Environment.safeParse(given, { error: fieldMessage });
  const issues = (parsed.error?.issues ?? []).map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  const faults = [...files.errors, ...issues];
  const errors = parsed.success && faults.length === 0 ? CHECKS.flatMap((check) => check(parsed.data)) : faults;
  if (!parsed.success || errors.length > 0) {
    throw new ConfigError(`The configuration is not valid:\n${errors.map((error) => `  - ${error}`).join("\n")}`);
  }
  const { NEXTAUTH_URL, NEXTAUTH_SECRET, ...rest } = parsed.data;
  const build = readBuild();
  return Object.freeze({
    ...rest,
    mode: rest.DATABASE_URL ? ("server" as const) : ("embedded" as const),
    baseUrl: NEXTAUTH_URL ?? `http://localhost:${rest.PORT}`,
    MAIL_FROM: rest.MAIL_FROM ?? `"${rest.BRAND_NAME.replaceAll(/["\\]/g, "")}" <no-reply@localhost>`,
    secrets: NEXTAUTH_SECRET && Object.freeze(NEXTAUTH_SECRET),
    extraCaFile: given.NODE_EXTRA_CA_CERTS,
    UPDATE_CHECK_URL: rest.UPDATE_CHECK_URL ?? releasesUrl(build),
    build,
    removed: REMOVED_SETTINGS.filter(({ setting }) => given[setting] !== undefined),
  });
}

/** The secrets that are set, and what is wrong with the files of others. */
function readSecretFiles(env: Record<string, string | undefined>) {
  const secrets: Record<string, string | undefined> = {};
  const errors: string[] = [];
  for (const name of Object.keys(Environment.shape).filter(isSecret)) {
    try {
      secrets[name] = secretOf(env, name);
    } catch (error) {
      errors.push((error as Error).message);
    }
  }
  return { secrets, errors };
}

function serverModeErrors(env: Environment): string[] {
  if (!env.DATABASE_URL) {
    return env.DATABASE_MIGRATE_URL ? missing(env, ["DATABASE_URL"], "DATABASE_MIGRATE_URL") : [];
  }
  return [
    ...missing(env, ["NEXTAUTH_URL", "NEXTAUTH_SECRET"], "DATABASE_URL"),
    ...(env.AUTH_REQUIRE_VERIFIED_EMAIL && !env.MAIL_OUTBOX
      ? missing(env, ["SMTP_URL"], "AUTH_REQUIRE_VERIFIED_EMAIL")
      : []),
  ];
}

/** A sign-in provider needs all of its variables; Apple's key serves native apps without a Services ID, too. */
function providerErrors(env: Environment): string[] {
  const isKey = env.AUTH_APPLE_SECRET?.startsWith("-----BEGIN");
  const isForAppsAlone = isKey && env.AUTH_APPLE_NATIVE_IDS.length > 0;
  const errors = (["GOOGLE", "APPLE", "GITHUB"] as const).flatMap((name) => {
    const [id, secret] = [`AUTH_${name}_ID`, `AUTH_${name}_SECRET`] as const;
    const needsId = env[secret] && !(name === "APPLE" && isForAppsAlone);
    return [...(env[id] ? missing(env, [secret], id) : []), ...(needsId ? missing(env, [id], secret) : [])];
  });
  return [...errors, ...(isKey ? missing(env, ["AUTH_APPLE_TEAM_ID", "AUTH_APPLE_KEY_ID"], "a key as secret") : [])];
}

function missing(env: Environment, names: (keyof Environment)[], reason: string): string[] {
  return names.filter((name) => env[name] === undefined).map((name) => `${name}: is required with ${reason}`);
}

/** The releases' bucket: either all of its variables are set, or none. A mirror in a bucket needs only the others. */
function storageErrors(env: Environment): string[] {
  const names = ["ENDPOINT", "REGION", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY"] as const;
  const variables = names.map((name) => `RELEASE_S3_${name}` as const);
  const isMirror = env.RELEASE_MIRROR?.startsWith("s3://") ?? false;
  const isUsed = [...variables, "RELEASE_S3_BUCKET" as const].some((name) => env[name] !== undefined);
  return [
    ...(env.RELEASE_MIRROR_URL === undefined ? [] : missing(env, ["RELEASE_MIRROR"], "RELEASE_MIRROR_URL")),
    ...(isMirror ? missing(env, variables, "a RELEASE_MIRROR in a bucket") : []),
    ...(isUsed && !isMirror ? missing(env, [...variables, "RELEASE_S3_BUCKET"], "the others") : []),
  ];
}

/** A schedule requires a location, and a bucket requires its credentials. */
function backupErrors(env: Environment): string[] {
  const names = ["ENDPOINT", "REGION", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY"] as const;
  const variables = names.map((name) => `BACKUP_S3_${name}` as const);
  const isBucket = env.BACKUP_TO?.startsWith("s3://") || variables.some((name) => env[name] !== undefined);
  return [
    ...(env.BACKUP_SCHEDULE === undefined ? [] : missing(env, ["BACKUP_TO"], "BACKUP_SCHEDULE")),
    ...(isBucket ? variables.filter((name) => env[name] === undefined) : []).map(
      (name) => `${name}: is required for backups in a bucket`,
    ),
  ];
}

/** The key of Apple's API is nothing without its ids, and without an app. */
function appStoreApiErrors(env: Environment): string[] {
  if (env.BILLING_APP_STORE_KEY === undefined) return [];
  const names = ["BILLING_APP_STORE_KEY_ID", "BILLING_APP_STORE_ISSUER_ID"] as const;
  const hasApp = env.BILLING_APP_STORE_APPS.length > 0;
  return [
    ...missing(env, [...names], "BILLING_APP_STORE_KEY"),
    ...(hasApp ? [] : ["BILLING_APP_STORE_APPS: is required with BILLING_APP_STORE_KEY"]),
  ];
}

function apnsErrors(env: Environment): string[] {
  if (!env.APNS_KEY && !env.APNS_KEY_ID) return []; // App Attest uses the team ID alone
  return (["APNS_KEY", "APNS_KEY_ID", "APNS_TEAM_ID"] as const)
    .filter((name) => env[name] === undefined)
    .map((name) => `${name}: is required because other APNs credentials are set`);
}

function appAttestErrors(env: Environment): string[] {
  if (env.APP_ATTEST_API_KEY === undefined) return [];
  return missing(env, ["APP_ATTEST_API_KEY_ID", "APNS_TEAM_ID"], "APP_ATTEST_API_KEY");
}

/** The dark variants complete the light ones. */
function brandErrors(env: Environment): string[] {
  return (["BRAND_COLOR", "BRAND_LOGO"] as const).flatMap((name) =>
    env[`${name}_DARK`] ? missing(env, [name], `${name}_DARK`) : [],
  );
}

/** Browsers refuse an RP ID that is not the page's host or a domain above it. */
function relyingPartyErrors({ NEXTAUTH_URL, AUTH_PASSKEY_RP_ID: rpId }: Environment): string[] {
  const { hostname } = new URL(NEXTAUTH_URL ?? "http://localhost");
  if (rpId === undefined || hostname === rpId || hostname.endsWith(`.${rpId}`)) return [];
  return ["AUTH_PASSKEY_RP_ID: must be the host of NEXTAUTH_URL, or a domain above it"];
}

/** With an empty or public key anybody could sign. Standard Webhooks specification, "Signature scheme". */
function signingKeyErrors({ BILLING_PROVIDER: provider, BILLING_WEBHOOK_SIGNING_SECRET: secret }: Environment) {
  if (provider !== "standard-webhooks" || secret === undefined) return [];
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  if (key.length >= 24 && !/^wh[ps]k_/.test(secret)) return [];
  return ["BILLING_WEBHOOK_SIGNING_SECRET: must be whsec_ and the base64 of 24 to 64 random bytes"];
}

/** The site of the guides has the document. While no homepage is entered in package.json, it has to be named. */
function updateCheckErrors(env: Environment): string[] {
  const isMissing = env.UPDATE_CHECK === "on" && releasesUrl(readBuild()) === undefined;
  return isMissing ? missing(env, ["UPDATE_CHECK_URL"], "UPDATE_CHECK=on") : [];
}

function releasesUrl({ homepage }: Build): string | undefined {
  if (/(^|\.)example\.com$/.test(new URL(homepage).hostname)) return undefined;
  return `${homepage.replace(/\/$/, "")}/releases.json`;
}

/** From package.json and the build. Null: not built, or built outside a checkout. */
type Build = { name: string; version: string; homepage: string; commit: string | null; builtAt: string | null };

function readBuild(): Build {
  const { name, version, homepage } = JSON.parse(readFileSync("package.json", "utf8"));
  const { commit = null, builtAt = null } = readBuilt();
  return { name, version, homepage, commit, builtAt };
}

function readBuilt(): Partial<Build> {
  try {
    return JSON.parse(readFileSync(".next/build.json", "utf8"));
  } catch {
    return {}; // not built, or the file is damaged
  }
}
