import type { Passkey as PasskeyRow } from "../../db/generated/client";
import type { Passkey } from "./schema";

/** The public part of a passkey's row. */
export function toPasskey(row: PasskeyRow): Passkey {
  const { id, name, credentialId, transports, isBackedUp: isSynced, createdAt, lastUsedAt } = row;
  return { id, name, credentialId, transports, isSynced, createdAt, lastUsedAt };
}
