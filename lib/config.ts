import { readFileSync } from "node:fs";
import { z } from "zod";

const text = z.string().trim().min(1);
const port = z.coerce.number().int().min(0).max(65_535);
const flag = z.enum(["true", "false"]).transform((value) => value === "true");
const list = z.string().transform((value) =>
  value
    .split(",")
    .map((entry) => entry.trim())
    .filter(Boolean),
);
const origins = list.pipe(z.array(z.url({ protocol: /^https?$/ }).transform((value) => new URL(value).origin)));
const baseUrl = z
  .url({ protocol: /^https?$/ })
  .refine((value) => new URL(value).href === `${new URL(value).origin}/`, "must be an origin without a path")
  .transform((value) => new URL(value).origin);

/** Every variable the service reads, as it stands in `.env.example`. */
export const Environment = z.object({
  PORT: port.default(3000),
  HOST: text.default("0.0.0.0"),
  DATA_DIR: text.default("./data"),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  METRICS_PORT: port.min(1).optional(),
  METRICS_HOST: text.default("127.0.0.1"),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  OTEL_SERVICE_NAME: text.default("homeport"),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(1).max(1000).default(10),
  NEXTAUTH_URL: baseUrl.optional(),
  NEXTAUTH_SECRET: z.string().min(32, "must be at least 32 characters long").optional(),
  AUTH_PASSWORD_MIN: z.coerce.number().int().min(8).max(64).default(8),
  AUTH_TRUSTED_ORIGINS: origins.default([]),
  BCRYPT_COST: z.coerce.number().int().min(10).max(15).default(12),
  CORS_ALLOWED_ORIGINS: origins.default([]),
  TRUSTED_PROXY_HOPS: z.coerce.number().int().min(0).max(10).default(0),
  RATE_LIMITS: z.enum(["on", "off"]).default("on"),
  SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  MAIL_FROM: text.default("Homeport <no-reply@localhost>"),
  BILLING_PROVIDER: z.enum(["revenuecat", "standard-webhooks"]).default("revenuecat"),
  BILLING_WEBHOOK_AUTHORIZATION: list.default([]),
  BILLING_WEBHOOK_SIGNING_SECRET: text.optional(),
  BILLING_SANDBOX_ENTITLES: flag.default(false),
  BILLING_SANDBOX_TESTERS: list.default([]),
  BILLING_STALE_LEEWAY_SECONDS: z.coerce.number().int().min(0).max(604_800).default(3600),
  BILLING_API_KEY: text.optional(),
  BILLING_API_URL: z.url({ protocol: /^https?$/ }).default("https://api.revenuecat.com/v1"),
  BILLING_PAYLOAD_RETENTION_DAYS: z.coerce.number().int().min(1).max(36_500).optional(),
  RELEASE_CATALOG: text.optional(),
  APNS_BUNDLE_IDS: list.pipe(z.array(text).min(1)).default(["com.example.homeport"]),
});
type Environment = z.infer<typeof Environment>;

/** Where the service comes from; from package.json and, where the builder knows it, the commit. */
type Build = { name: string; version: string; commit: string | null; builtAt: string | null };

/** The whole configuration, read once at boot and frozen. `mode` is "server" where `DATABASE_URL` is set. */
export type Config = Readonly<
  Omit<Environment, "NEXTAUTH_URL" | "NEXTAUTH_SECRET"> & {
    mode: "embedded" | "server";
    /** The base of every link, without a trailing slash. */
    baseUrl: string;
    /** Encrypts session tokens and keys the limits' hashes. Made once in embedded mode. */
    secret: string | undefined;
    build: Build;
  }
>;

/** Bad configuration; its message lists every fault, one a line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Reads the environment. An empty variable counts as unset.
 * @throws ConfigError with all that is missing or wrong.
 */
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const parsed = Environment.safeParse(given);
  const faults = parsed.success
    ? missingInServerMode(parsed.data)
    : parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  if (!parsed.success || faults.length > 0) {
    throw new ConfigError(`The configuration is not valid:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
  }
  const { NEXTAUTH_URL, NEXTAUTH_SECRET, ...rest } = parsed.data;
  return Object.freeze({
    ...rest,
    mode: rest.DATABASE_URL ? ("server" as const) : ("embedded" as const),
    baseUrl: NEXTAUTH_URL ?? `http://localhost:${rest.PORT}`,
    secret: NEXTAUTH_SECRET,
    build: readBuild(),
  });
}

/** next-auth reads its base URL from the environment and nowhere else. */
export function publishBaseUrl(baseUrl: string): void {
  process.env.NEXTAUTH_URL = baseUrl;
}

function missingInServerMode(env: Environment): string[] {
  if (!env.DATABASE_URL) return [];
  return (["NEXTAUTH_URL", "NEXTAUTH_SECRET"] as const)
    .filter((name) => env[name] === undefined)
    .map((name) => `${name}: is needed with DATABASE_URL`);
}

function readBuild(): Build {
  const { name, version } = JSON.parse(readFileSync("package.json", "utf8")) as { name: string; version: string };
  const written = ((): Partial<Build> => {
    try {
      return JSON.parse(readFileSync(".next/build.json", "utf8"));
    } catch {
      return {}; // never built: running from sources
    }
  })();
  return { name, version, commit: written.commit ?? null, builtAt: written.builtAt ?? null };
}
