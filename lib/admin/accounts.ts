import { removeAccount } from "../accounts/delete-account";
import { listSecurityEvents, recordSecurityEvent } from "../audit/security-events";
import { revokeAllSessions } from "../auth/sessions/sessions";
import type { Context, Tx } from "../context";
import { isUuid } from "../db/ids";

type Deps = Pick<Context, "db" | "now">;

const MAX_EVENTS = 50;
/** What a security event says of where it came from. */
const OPERATOR = { ip: "unknown", client: "operator" };

/** The newest accounts whose address contains a text. */
export function listAccounts({ db }: Pick<Deps, "db">, { search, limit }: { search: string; limit: number }) {
  // Prisma leaves LIKE's wildcards as they are, and an address may well have a "_".
  const contains = search
    .trim()
    .toLowerCase()
    .replaceAll(/[\\%_]/g, "\\$&");
  return db.account.findMany({
    where: { email: { contains } },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
    take: limit,
    select: { id: true, email: true, emailVerifiedAt: true, createdAt: true },
  });
}

/** Whether an operator names an account by its id. */
export const isAccountId = (name: string): boolean => isUuid(name.trim());

/** The account that an operator means by its id or its address; null where there is none. */
export function findAccount({ db }: Pick<Deps, "db">, idOrEmail: string) {
  const name = idOrEmail.trim().toLowerCase();
  return db.account.findUnique({
    where: isAccountId(name) ? { id: name } : { email: name },
    select: { id: true, email: true },
  });
}

/** What helps somebody who asks for help: nothing that signs in, no hash, no device token. Newest first. */
export async function describeAccount({ db, now }: Deps, id: string) {
  const at = now();
  const { passwordHash, ...account } = await db.account.findUniqueOrThrow({
    where: { id },
    include: {
      identities: { select: { provider: true, createdAt: true } },
      sessions: {
        where: { revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } },
        omit: { accountId: true },
        orderBy: { createdAt: "desc" },
      },
      devices: { select: { id: true, name: true, model: true, status: true, createdAt: true } },
      purchases: { select: { store: true, productId: true, currentPeriodEndsAt: true, endedAt: true } },
    },
  });
  return {
    ...account,
    hasPassword: passwordHash !== null,
    securityEvents: await listSecurityEvents({ db }, id, MAX_EVENTS),
  };
}

/** Deletes an account for its owner, who is mailed. Returns whether there was such an account. */
export function deleteAccount(deps: Parameters<typeof removeAccount>[0], id: string): Promise<boolean> {
  return removeAccount(deps, id, OPERATOR, true);
}

/** Ends every session of an account, and with it the devices they registered. Returns how many had not ended before. */
export function revokeSessions({ db, now }: Deps, id: string): Promise<number> {
  return db.$transaction((tx) => signOutEverywhere(tx, now(), id));
}

/**
 * Removes an account's identities at a provider, and ends its sessions, some of which may have come by them. Changes
 * nothing where the account has no such identity. Returns how many identities were removed.
 */
export function unlinkIdentities({ db, now }: Deps, id: string, provider: string): Promise<number> {
  return db.$transaction(async (tx) => {
    const { count } = await tx.identity.deleteMany({ where: { accountId: id, provider } });
    if (count === 0) return 0;
    await recordSecurityEvent(tx, now(), id, "identity_unlinked", OPERATOR);
    await signOutEverywhere(tx, now(), id);
    return count;
  });
}

async function signOutEverywhere(tx: Tx, now: Date, id: string): Promise<number> {
  const ended = await revokeAllSessions(tx, now, id);
  if (ended > 0) await recordSecurityEvent(tx, now, id, "signed_out", OPERATOR);
  return ended;
}
