import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import type { Config } from "./config";
import { createDurably, makeFolder } from "./files/durable";

const Secrets = z.object({ secret: z.string().min(32), billingWebhookSigningSecret: z.string().min(32) });
export type Secrets = z.infer<typeof Secrets>;

/** The file with the generated secrets of embedded mode. */
const secretsFile = (dataDir: string) => path.join(dataDir, "secrets.json");

/** The configuration with its secrets. Embedded mode generates those that are not configured. */
export async function withSecrets(config: Config): Promise<Config & { secret: string }> {
  if (config.mode === "server") return { ...config, secret: config.secret as string };
  const generated = await embeddedSecrets(config.DATA_DIR);
  const webhook =
    config.BILLING_WEBHOOK_SIGNING_SECRET ??
    (config.BILLING_WEBHOOK_AUTHORIZATION.length === 0 ? generated.billingWebhookSigningSecret : undefined);
  return Object.freeze({
    ...config,
    secret: config.secret ?? generated.secret,
    BILLING_WEBHOOK_SIGNING_SECRET: webhook,
  });
}

/** The secrets of embedded mode, generated at the first start and stored in `DATA_DIR/secrets.json` with mode 0600. */
async function embeddedSecrets(dataDir: string): Promise<Secrets> {
  const file = secretsFile(dataDir);
  const stored = await readSecrets(dataDir);
  if (stored) return stored;
  const generated = JSON.stringify({ secret: randomSecret(), billingWebhookSigningSecret: randomSecret() }, null, 2);
  await makeFolder(dataDir, 0o700);
  await createDurably(file, `${generated}\n`, 0o600); // A concurrent first start may have created it.
  return Secrets.parse(JSON.parse(await readFile(file, "utf8")));
}

/** The stored secrets; null if there are none. @throws Error for an invalid file */
export async function readSecrets(dataDir: string): Promise<Secrets | null> {
  const file = secretsFile(dataDir);
  try {
    return Secrets.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`${file} cannot be read: ${(error as Error).message}`);
  }
}

function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}
