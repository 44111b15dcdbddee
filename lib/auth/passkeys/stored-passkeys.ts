import type { Tx } from "../../context";
import type { Passkey as PasskeyRow } from "../../platform/db/generated/client";
import type { Passkey } from "./schema";

/** An account's passkeys, oldest first. */
export async function listPasskeys(db: Tx, accountId: string): Promise<Passkey[]> {
  const rows = await db.passkey.findMany({ where: { accountId }, orderBy: { id: "asc" } });
  return rows.map(toPasskey);
}

/** The public part of a passkey's row. */
export function toPasskey(row: PasskeyRow): Passkey {
  const { id, name, credentialId, transports, isBackedUp: isSynced, createdAt, lastUsedAt } = row;
  return { id, name, credentialId, transports, isSynced, createdAt, lastUsedAt };
}
