import type { Context } from "../context";
import { type LinkedIdentity, listIdentities } from "./identities";
import { toUser, type User } from "./schema";

const MOST_SHOWN = 20;

/** What an account's page shows of the account itself. */
export type Profile = { user: User; hasPassword: boolean; identities: LinkedIdentity[] };

/** An account's profile; null where it was deleted meanwhile. */
export async function readProfile({ db }: Pick<Context, "db">, accountId: string): Promise<Profile | null> {
  const account = await db.account.findUnique({ where: { id: accountId } });
  if (!account) return null;
  const identities = await listIdentities(db, accountId);
  return { user: toUser(account), hasPassword: account.passwordHash !== null, identities };
}

/** What happened to an account lately, newest first: twenty events at most. */
export async function listSecurityEvents({ db }: Pick<Context, "db">, accountId: string) {
  return db.securityEvent.findMany({
    where: { accountId },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: MOST_SHOWN,
    select: { id: true, type: true, at: true, address: true, client: true },
  });
}
