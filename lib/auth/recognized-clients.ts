import type { Context, Tx } from "../context";
import type { Prisma } from "../platform/db/generated/client";
import { sql } from "../platform/db/sql";
import { cookieName, setCookie } from "../platform/http/cookies";
import type { Caller } from "../principal";

type Deps = Pick<Context, "db" | "limits" | "now">;

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a client is recognized after its last sign-in: longer than any session lives. */
const TTL_MS = 180 * DAY_MS;
/** The maximum number of clients that an account recognizes. Those that signed in longest ago are removed first. */
const MAX_CLIENTS = 50;

/** The keys of a caller's device and network for an email. They are HMACs, and reveal none of the three. */
export async function clientKeys({ limits }: Pick<Deps, "limits">, email: string, { deviceId, ip }: Caller) {
  return {
    device: await limits.pseudonymOf(`device ${deviceId} ${email}`),
    network: await limits.pseudonymOf(`network ${ip} ${email}`),
  };
}

export function recognizedClientCondition(key: string, at: Date): Prisma.Sql {
  return sql`EXISTS (SELECT FROM "RecognizedClient" WHERE "key" = ${key} AND "expiresAt" > ${at}::timestamptz)`;
}

/** Whether an account recognizes the caller by its device cookie. Reads nothing for a caller without one. */
export async function isRecognizedDevice(ctx: Deps, email: string, caller: Caller): Promise<boolean> {
  if (caller.isNewDevice) return false;
  return isRecognized(ctx, (await clientKeys(ctx, email, caller)).device);
}

/** Whether an account recognizes the client with this key. */
export async function isRecognized({ db, now }: Pick<Deps, "db" | "now">, key: string): Promise<boolean> {
  const where = { key, expiresAt: { gt: now() } };
  return (await db.recognizedClient.findUnique({ where, select: { key: true } })) !== null;
}

/** Remembers the client of an account. Native apps have no device cookie, and are recognized by their network. */
export async function recognizeClient(
  tx: Tx,
  ctx: Pick<Context, "limits" | "now">,
  account: { id: string; email: string },
  caller: Caller,
  options: { hasDeviceCookie: boolean },
): Promise<void> {
  const { remember, forget } = await recognition(ctx, account, caller, options);
  await tx.$executeRaw`
    WITH account AS (SELECT ${account.id}::uuid AS "id"), remembered AS (${remember}) ${forget}`;
}

/** The same as SQL, for a statement with a CTE `account`. `forget` deletes the clients beyond the maximum. */
export async function recognition(
  ctx: Pick<Deps, "limits" | "now">,
  account: { id: string; email: string },
  caller: Caller,
  { hasDeviceCookie }: { hasDeviceCookie: boolean },
): Promise<{ remember: Prisma.Sql; forget: Prisma.Sql }> {
  const { device, network } = await clientKeys(ctx, account.email, caller);
  const keys = [...(hasDeviceCookie ? [device] : []), ...(caller.ip === "unknown" ? [] : [network])].sort();
  const expiresAt = new Date(ctx.now().getTime() + TTL_MS);
  return {
    remember: sql`
      INSERT INTO "RecognizedClient" ("key", "accountId", "expiresAt")
      SELECT unnest(${keys}::text[]), "id", ${expiresAt}::timestamptz FROM account
      ON CONFLICT ("key") DO UPDATE SET "accountId" = EXCLUDED."accountId", "expiresAt" = EXCLUDED."expiresAt"`,
    forget: sql`
      DELETE FROM "RecognizedClient" WHERE "key" IN (
        SELECT "key" FROM "RecognizedClient" WHERE "accountId" = ${account.id}::uuid
          AND NOT "key" = ANY(${keys}::text[]) AND EXISTS (SELECT FROM account)
        ORDER BY "expiresAt" DESC, "key" OFFSET ${MAX_CLIENTS - keys.length}::integer)`,
  };
}

/** The Set-Cookie header of the device cookie. It identifies a browser and signs nobody in. */
export function setDeviceCookie({ config, now }: Pick<Context, "config" | "now">, deviceId: string): string {
  return setCookie(config, cookieName(config, "device"), deviceId, new Date(now().getTime() + TTL_MS));
}
