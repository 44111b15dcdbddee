import { randomBytes } from "node:crypto";
import path from "node:path";
import { z } from "zod";
import type { Config } from "./config";
import { createDurably, makeFolder, readJsonFile, removeOldFiles, writeDurably } from "./files/durable";

const Secret = z.string().min(32);
const StoredSecrets = z.object({
  secret: Secret,
  /** The secrets before it, the newest first. Version 1.0 does not read them. */
  previousSecrets: z.array(z.object({ secret: Secret, replacedAt: z.iso.datetime() })).default([]),
  billingWebhookSigningSecret: Secret,
});
type StoredSecrets = z.infer<typeof StoredSecrets>;

/** The generated secrets of embedded mode. `secrets` is what `NEXTAUTH_SECRET` would be, the newest first. */
type Secrets = { secrets: readonly [string, ...string[]]; billingWebhookSigningSecret: string };

/** What a killed process leaves of the file. It has secrets, too. */
const TEMPORARY = /^secrets\.json(\.\d+)?\.tmp$/;

const secretsFile = (dataDir: string) => path.join(dataDir, "secrets.json");

/** The configuration with its secrets. Embedded mode generates those that are not configured. */
export async function withSecrets(config: Config): Promise<Config & Pick<Secrets, "secrets">> {
  if (config.mode === "server") return { ...config, secrets: config.secrets as Secrets["secrets"] };
  const generated = await embeddedSecrets(config.DATA_DIR);
  const webhook =
    config.BILLING_WEBHOOK_SIGNING_SECRET ??
    (config.BILLING_WEBHOOK_AUTHORIZATION.length === 0 ? generated.billingWebhookSigningSecret : undefined);
  return Object.freeze({
    ...config,
    secrets: config.secrets ?? generated.secrets,
    BILLING_WEBHOOK_SIGNING_SECRET: webhook,
  });
}

/** The secrets of embedded mode, generated at the first start and stored in `DATA_DIR/secrets.json` with mode 0600. */
async function embeddedSecrets(dataDir: string): Promise<Secrets> {
  await removeOldFiles(dataDir, TEMPORARY);
  const stored = await readSecrets(dataDir);
  if (stored) return stored;
  const generated = { secret: randomSecret(), billingWebhookSigningSecret: randomSecret() };
  await makeFolder(dataDir, 0o700);
  await createDurably(secretsFile(dataDir), toText(generated), 0o600); // A concurrent first start may have created it.
  return (await readSecrets(dataDir)) as Secrets;
}

/** The text of the file, for a backup; null if there is none. @throws Error for an invalid file */
export async function readSecretsText(dataDir: string): Promise<string | null> {
  const stored = await parseFile(dataDir);
  return stored && toText(stored);
}

/**
 * Writes the secrets of a backup. Returns false if the folder has other secrets, which it keeps.
 * @throws Error for an invalid text or file
 */
export async function restoreSecrets(dataDir: string, given: string): Promise<boolean> {
  const text = toText(StoredSecrets.parse(JSON.parse(given)));
  await makeFolder(dataDir, 0o700);
  const isCreated = await createDurably(secretsFile(dataDir), text, 0o600);
  return isCreated || (await readSecretsText(dataDir)) === text;
}

/** The stored secrets; null if there are none. @throws Error for an invalid file */
export async function readSecrets(dataDir: string): Promise<Secrets | null> {
  const stored = await parseFile(dataDir);
  return stored && toSecrets(stored);
}

/**
 * Puts a new secret before the stored ones. Only a process that has opened the database may call this: its lock guards
 * the file. Returns the new ring.
 */
export async function replaceSecret(dataDir: string, now: Date): Promise<Secrets> {
  await embeddedSecrets(dataDir);
  const { secret, previousSecrets, ...others } = (await parseFile(dataDir)) as StoredSecrets;
  const previous = [{ secret, replacedAt: now.toISOString() }, ...previousSecrets];
  return write(dataDir, { ...others, secret: randomSecret(), previousSecrets: previous });
}

/** Removes the secrets that were replaced before a time. Nothing may be encrypted with them any more. */
export async function removePreviousSecrets(dataDir: string, replacedBefore: Date): Promise<Secrets> {
  const stored = (await parseFile(dataDir)) as StoredSecrets;
  const kept = stored.previousSecrets.filter(({ replacedAt }) => new Date(replacedAt) >= replacedBefore);
  return write(dataDir, { ...stored, previousSecrets: kept });
}

async function write(dataDir: string, secrets: StoredSecrets): Promise<Secrets> {
  await writeDurably(secretsFile(dataDir), toText(secrets), { mode: 0o600 });
  return toSecrets(secrets);
}

const parseFile = (dataDir: string) => readJsonFile(secretsFile(dataDir), StoredSecrets);

function toSecrets({ secret, previousSecrets, billingWebhookSigningSecret }: StoredSecrets): Secrets {
  const secrets = [secret, ...previousSecrets.map((previous) => previous.secret)] as const;
  return { secrets, billingWebhookSigningSecret };
}

function toText(secrets: z.input<typeof StoredSecrets>): string {
  return `${JSON.stringify(secrets, null, 2)}\n`;
}

function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}
