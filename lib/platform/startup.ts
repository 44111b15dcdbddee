import type { Context } from "../context";
import { vapidSubject } from "./config/web-push";
import { findMissingSettings, SERVICE_LIMITS } from "./db/time-limits";
import { loadDataKeys } from "./keys/data-keys";

/** The text on the terminal when the service listens: its URL, its parts and their modes, and commands to try. */
export function startupMessage({ config, mailer, push }: Pick<Context, "config" | "mailer" | "push">): string {
  const { baseUrl, mode, DATA_DIR } = config;
  const outbox = `${DATA_DIR}/outbox`;
  const email = { smtp: "SMTP", files: `development: .eml files in ${outbox}`, off: "off: SMTP_URL is not set" };
  const pushes = push && { apns: "APNs", files: `development: files in ${outbox}` }[push.mode];
  const parts = [
    `Homeport ${config.build.version} listens on ${baseUrl} (${config.HOST}:${config.PORT})`,
    `  database  ${mode === "embedded" ? `embedded, in ${DATA_DIR}` : "PostgreSQL"}`,
    `  email     ${email[mailer.mode]}`,
    `  push      ${pushes ?? "Web Push only: APNs is not configured"}`,
    "Try:",
    `  curl ${baseUrl}/api/health`,
    `  curl '${baseUrl}/api/version?platform=macos&product=core&architecture=universal'`,
    `  npm run tour${config.PORT === 3000 ? "" : ` -- ${baseUrl}`}`,
  ];
  return parts.join("\n");
}

/** What to do while the service has no admin. */
export const FIRST_OPERATOR = "There is no admin yet. To become the first operator, open this link within 30 minutes";

export function firstOperatorMessage(link: string): string {
  return `${FIRST_OPERATOR}:\n  ${link}`;
}

type Deps = Pick<Context, "config" | "database" | "db" | "log" | "mailer">;

/** Logs what may be wrong. Does not wait for the database. */
export function warnAtStart(deps: Deps): void {
  if (deps.config.mode === "server") void warnOfDatabase(deps);
  void warnOfMissingSecrets(deps);
  warnOfSettings(deps);
}

const LOCAL_SUBJECT = /^(?:mailto:[^@]*@|https:\/\/)(?:[^/:]*\.)?(?:localhost|local)(?=[/:?]|$)/i;

/** Settings that are valid but rarely intended. */
function warnOfSettings({ config, log, mailer }: Deps): void {
  for (const removed of config.removed) log.warn(removed, `${removed.setting} no longer exists and has no effect`);
  if (mailer.mode === "off") log.warn("SMTP_URL is not set: no email will be sent");
  if (config.RATE_LIMITS === "off") log.warn("RATE_LIMITS=off: no rate limits; for load tests only");
  const subject = vapidSubject(config);
  const isOnOwnMachine = new URL(config.baseUrl).hostname === "localhost" && config.VAPID_SUBJECT === undefined;
  const refused = "VAPID_SUBJECT is on localhost or .local: Apple refuses notifications to Safari (BadJwtToken)";
  if (!isOnOwnMachine && LOCAL_SUBJECT.test(subject)) log.warn({ subject }, refused);
  const isUnsent = config.mode === "embedded" && config.PUSH_WORKER === "off";
  if (isUnsent) log.warn("PUSH_WORKER=off on an embedded database: no push will be sent");
}

/**
 * Logged once. Until the migrations are applied, every route that needs the database responds with 503. Without the
 * settings, a statement or a lock may take longer than a request.
 */
export async function warnOfDatabase({ database, log }: Pick<Deps, "database" | "log">): Promise<void> {
  try {
    const missing = await database.missingMigrations();
    if (missing.length > 0) log.error({ missing }, "migrations are missing: run `homeport db migrate`");
    const run = await findMissingSettings(database.client, SERVICE_LIMITS);
    if (run.length > 0) log.warn({ run }, "the pooler drops the time limits of connections: set them on the role");
  } catch (error) {
    log.warn({ err: error }, "the database is not reachable");
  }
}

/** Reads the data keys. What is encrypted with a key that the secrets cannot unwrap is unavailable. */
async function warnOfMissingSecrets({ config, db, log }: Deps): Promise<void> {
  try {
    const { missingSecretIds } = await loadDataKeys({ config, db });
    if (missingSecretIds.length > 0)
      log.error({ lost: missingSecretIds }, "stored secrets cannot be decrypted: NEXTAUTH_SECRET lacks a secret");
  } catch (error) {
    log.debug({ err: error }, "the data keys are read when they are needed");
  }
}

/**
 * A second signal that comes sooner is the first one again: npm passes on what the terminal or the control group has sent
 * the service already.
 */
const MIN_INTERVAL_MS = 1_000;

/** The first SIGTERM or SIGINT stops the process in order, a second one at once, by `kill`. */
export function stopOnSignals(stop: () => Promise<void>, kill = (): unknown => process.exit(1)): void {
  let firstAtMs: number | undefined;
  const handle = async () => {
    const atMs = performance.now();
    if (firstAtMs !== undefined && atMs - firstAtMs >= MIN_INTERVAL_MS) kill();
    if (firstAtMs !== undefined) return;
    firstAtMs = atMs;
    await stop();
    process.exit(0);
  };
  process.on("SIGTERM", handle);
  process.on("SIGINT", handle);
}
