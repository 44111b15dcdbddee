import { parseOperatorName } from "../../../lib/auth/local-operator";
import { LIFETIMES } from "../../../lib/auth/sessions/sessions";
import type { Context } from "../../../lib/context";
import { commandLineOf } from "../../../lib/platform/audit/operator-events";
import { type Config, loadConfig } from "../../../lib/platform/config";
import { removePreviousSecrets, replaceSecret } from "../../../lib/platform/embedded-secrets";
import { type Rewrapped, rewrapDataKeys } from "../../../lib/platform/keys/data-keys";
import { openCommandDatabase } from "../../command-database";
import { UsageError } from "../../command-line";
import type { Output } from "../output";
import { encodedOperatorName } from "../transport/running-service";

/** No session token lives longer. */
const SESSION_DAYS = LIFETIMES.token.absoluteMs / (24 * 60 * 60 * 1000);

/**
 * Protects the stored keys with the first secret of `NEXTAUTH_SECRET`. Without the variable, which embedded mode allows,
 * first generates a secret in `DATA_DIR/secrets.json`. Works on the database of this folder alone, because a running
 * service has its secrets in memory.
 * @throws UsageError, DataDirInUseError; CommandError if migrations are missing; Error if a key was left
 */
export async function rotateKeys(output: Output): Promise<void> {
  if (process.env.HOMEPORT_URL)
    throw new UsageError("rotate-keys changes the database of this folder: unset HOMEPORT_URL.");
  const config = loadConfig();
  const database = await openCommandDatabase(config);
  try {
    const text = await rotateIn(config, database.client);
    output.result({ message: text }, [text]);
  } finally {
    await database.close();
  }
}

async function rotateIn(config: Config, db: Context["db"]): Promise<string> {
  const { secrets } = config;
  if (!secrets) return rotateGenerated(config, db);
  const text = await rewrap({ ...config, secrets }, db);
  if (secrets.length === 1) return text;
  return `${text} Keep the other secrets in NEXTAUTH_SECRET until ${SESSION_DAYS} days after the rotation: sessions need them.`;
}

/** The new secret is stored before it is used: a process that is killed here leaves keys that the file can decrypt. */
async function rotateGenerated(config: Config, db: Context["db"]): Promise<string> {
  const now = new Date();
  const { secrets } = await replaceSecret(config.DATA_DIR, now);
  const text = await rewrap({ ...config, secrets }, db);
  await removePreviousSecrets(config.DATA_DIR, new Date(now.getTime() - LIFETIMES.token.absoluteMs));
  return `${config.DATA_DIR}/secrets.json has a new secret. ${text}`;
}

async function rewrap(config: Context["config"], db: Context["db"]): Promise<string> {
  const operator = commandLineOf({ operator: parseOperatorName(encodedOperatorName()) });
  return describe(await rewrapDataKeys({ config, db, now: () => new Date() }, operator));
}

function describe({ rewrapped, unchanged, missingSecretIds }: Rewrapped): string {
  if (missingSecretIds.length > 0) {
    throw new Error(
      `${rewrapped} data keys re-wrapped. Others need the secret with the id ${missingSecretIds.join(" and ")}: ` +
        "add it to the end of NEXTAUTH_SECRET, and run the command again.",
    );
  }
  return `${rewrapped} data keys re-wrapped, ${unchanged} unchanged.`;
}
