import { commandLineOf } from "@/lib/platform/audit/operator-events";
import { clearDataKeyCache, pseudonym, rewrapDataKeys } from "@/lib/platform/keys/data-keys";
import { type Secrets, secretId } from "@/lib/platform/keys/key-ring";
import { createRateLimits } from "@/lib/platform/rate-limits";
import { ctx, SECRET, withContext } from "@/tests/support/context";

/** The secret that replaces `SECRET`. */
export const NEW_SECRET = "the-secret-that-replaces-the-first-one";

/** Runs `run` as a process that was started with this list in NEXTAUTH_SECRET. */
export function withSecrets<T>(secrets: Secrets, run: () => Promise<T>): Promise<T> {
  const config = { ...ctx().config, secrets };
  clearDataKeyCache({ config, db: ctx().db });
  const pseudonymOf = (text: string) => pseudonym({ config, db: ctx().db }, text);
  return withContext({ config, limits: createRateLimits({ ...ctx(), config, pseudonymOf }) }, run);
}

const operator = commandLineOf({ operator: "operator:ann" });

/** Runs `homeport accounts rotate-keys` with this list in NEXTAUTH_SECRET. */
export const rotateKeys = (secrets: Secrets) => withSecrets(secrets, () => rewrapDataKeys(ctx(), operator));

/** Undoes the rotations of a test, for the tests that follow in the same database. */
export async function restoreKeys(): Promise<void> {
  await rotateKeys([SECRET, NEW_SECRET]);
  await ctx().db.dataKey.deleteMany({ where: { NOT: { id: { endsWith: `:${secretId(SECRET)}` } } } });
}
