import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { createDurably, makeFolder } from "./files/durable";

const Secrets = z.object({ secret: z.string().min(32), billingWebhookSigningSecret: z.string().min(32) });
export type Secrets = z.infer<typeof Secrets>;

/** Where embedded mode keeps the secrets that it made. */
const secretsFile = (dataDir: string) => path.join(dataDir, "secrets.json");

/** The secrets of embedded mode: made at the first start, kept in `DATA_DIR/secrets.json`, mode 0600. */
export async function embeddedSecrets(dataDir: string): Promise<Secrets> {
  const file = secretsFile(dataDir);
  const kept = await keptSecrets(dataDir);
  if (kept) return kept;
  const made = JSON.stringify({ secret: randomSecret(), billingWebhookSigningSecret: randomSecret() }, null, 2);
  await makeFolder(dataDir, 0o700);
  await createDurably(file, `${made}\n`, 0o600); // or another first start was faster
  return Secrets.parse(JSON.parse(await readFile(file, "utf8")));
}

/** The secrets that were made before; null where there are none. @throws Error for a file that is none of ours. */
export async function keptSecrets(dataDir: string): Promise<Secrets | null> {
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
