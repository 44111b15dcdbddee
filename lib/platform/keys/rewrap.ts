import type { Context } from "../../context";
import { unwrapKey, wrapKey } from "./data-keys";
import { secretId } from "./key-ring";

/** What `rewrapDataKeys` did. `missingSecretIds` names the secrets that wrap a data key and are not in the ring. */
export type Rewrapped = { rewrapped: number; unchanged: number; missingSecretIds: string[] };

/**
 * Wraps every data key with the first secret, in one transaction. The keys stay the same, and so does what they encrypt.
 * Keys whose secret is not in the ring are left as they are.
 */
export async function rewrapDataKeys({ config, db }: Pick<Context, "config" | "db">): Promise<Rewrapped> {
  const { secrets } = config;
  return db.$transaction(async (tx) => {
    const rows = await tx.dataKey.findMany({ orderBy: { id: "asc" } });
    const old = rows.filter(({ wrappedBy }) => wrappedBy !== secretId(secrets[0]));
    const missing = new Set<string>();
    for (const row of old) {
      const key = unwrapKey(secrets, row);
      if (key) await tx.dataKey.update({ where: { id: row.id }, data: wrapKey(secrets, row.id, key) });
      else missing.add(row.wrappedBy);
    }
    const count = old.filter(({ wrappedBy }) => !missing.has(wrappedBy)).length;
    return { rewrapped: count, unchanged: rows.length - old.length, missingSecretIds: [...missing] };
  });
}
