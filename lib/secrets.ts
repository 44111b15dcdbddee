import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

const Secrets = z.object({ secret: z.string().min(32), billingWebhookSigningSecret: z.string().min(32) });
export type Secrets = z.infer<typeof Secrets>;

/** Where embedded mode keeps the secrets that it made. */
const secretsFile = (dataDir: string) => path.join(dataDir, "secrets.json");

/** The secrets of embedded mode: made at the first start, kept in `DATA_DIR/secrets.json`, mode 0600. */
export async function embeddedSecrets(dataDir: string): Promise<Secrets> {
  const file = secretsFile(dataDir);
  const kept = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (kept !== null) return Secrets.parse(JSON.parse(kept));
  const made = {
    secret: randomBytes(32).toString("base64url"),
    billingWebhookSigningSecret: randomBytes(32).toString("base64url"),
  };
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, file); // whole or not at all, should the power go
  return made;
}
