import { mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { loadConfig } from "../../../lib/platform/config";
import { secretOf } from "../../../lib/platform/config/secrets";
import { readSecrets } from "../../../lib/platform/embedded-secrets";
import { writeDurably } from "../../../lib/platform/files/durable";

/** URLs of PostgreSQL databases; null is the embedded database in `dataDir`. */
export type Databases = { from: string | null; to: string | null; dataDir: string };
/** What was moved, with the names of the databases, without passwords. `pausedMs` null: it is not known any more. */
export type Moved = {
  from: string;
  to: string;
  rows: number;
  tables: number;
  resumedTables: number;
  pausedMs: number | null;
};
export type OnProgress = (progress: { step: "copying" | "indexing" | "finishing"; share: number }) => void;

/**
 * What a move prints, as JSON and as text. Writes the settings that a new database needs to a file, unless the database is
 * that of the folder's own settings.
 */
export async function nextSteps({ from, to, dataDir }: Databases, moved: Moved, isIntoOwn: boolean) {
  const { rows, tables, resumedTables, pausedMs } = moved;
  const settings = to && !isIntoOwn ? await writeSettings(dataDir, to, from === null) : null;
  const resumed = resumedTables > 0 ? ` ${resumedTables} of them were copied before.` : "";
  const waited = pausedMs === null ? "" : `Writes waited for ${(pausedMs / 1000).toFixed(1)} s. `;
  const inEnv = settings
    ? `Put the lines of ${settings.file} into .env (${settings.names.join(", ")}), and restart`
    : to
      ? "Restart"
      : "Remove DATABASE_URL from .env, keep NEXTAUTH_SECRET, and restart";
  const lines = [
    `${rows} rows in ${tables} tables moved from ${moved.from} to ${moved.to}.${resumed}`,
    `${waited}${inEnv} the service: until then it only reads.`,
    `${moved.from} is unchanged, and refuses writes. To use it again, run \`homeport db move --cancel\` there.`,
  ];
  return { document: { ...moved, envFile: settings?.file ?? null, variables: settings?.names ?? [] }, lines };
}

/** Writes the variables that are not set yet to a file that only its owner can read: they contain secrets. */
async function writeSettings(dataDir: string, to: string, isFromEmbedded: boolean) {
  const settings = {
    DATABASE_URL: to,
    ...(secretOf(process.env, "DATABASE_MIGRATE_URL") ? { DATABASE_MIGRATE_URL: to } : {}),
    ...(isFromEmbedded ? await generatedSettings(dataDir) : {}),
  };
  await mkdir(dataDir, { recursive: true, mode: 0o700 }); // only the embedded database has made it
  const file = path.join(dataDir, "moved.env");
  await rm(file, { force: true }); // a new file gets the mode below
  const text = Object.entries(settings).map(([name, value]) => `${name}=${quotedIfNeeded(value)}\n`);
  await writeDurably(file, text.join(""), { mode: 0o600 });
  return { file, names: Object.keys(settings) };
}

/** What the embedded database does without, and PostgreSQL needs. With the same secrets, sessions stay valid. */
async function generatedSettings(dataDir: string): Promise<Record<string, string>> {
  const { baseUrl, secrets, BILLING_WEBHOOK_SIGNING_SECRET, BILLING_WEBHOOK_AUTHORIZATION } = loadConfig();
  const generated = await readSecrets(dataDir);
  const hasWebhook = BILLING_WEBHOOK_SIGNING_SECRET !== undefined || BILLING_WEBHOOK_AUTHORIZATION.length > 0;
  return {
    ...(process.env.NEXTAUTH_URL ? {} : { NEXTAUTH_URL: baseUrl }),
    ...(!secrets && generated ? { NEXTAUTH_SECRET: generated.secrets.join(",") } : {}),
    ...(!hasWebhook && generated ? { BILLING_WEBHOOK_SIGNING_SECRET: generated.billingWebhookSigningSecret } : {}),
  };
}

const quotedIfNeeded = (value: string) => (/[\s#'"]/.test(value) ? `"${value}"` : value);
