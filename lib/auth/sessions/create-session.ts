import type { Context, Tx } from "../../context";
import { insertSecurityEvent } from "../../platform/audit/security-events";
import type { Prisma } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import { empty, sql } from "../../platform/db/sql";
import type { Caller } from "../../principal";
import { recognition } from "../recognized-clients";
import { type AttemptCounters, deleteCounters } from "../sign-in-throttle";
import { type Authentication, placeOf } from "./authentication";
import type { Claims, SessionOptions, Transport } from "./sessions";
import { LIFETIMES } from "./sessions";

const MAX_SESSIONS = 20;

type NewSession = SessionOptions & {
  account: { id: string; email: string; sessionEpoch: number };
  /** Returns the account's "id"; if it returns no row, nothing is created. The account is new or locked. */
  accountStatement: Prisma.Sql;
  event: "registered" | "signed_in";
  authentication: Authentication;
  /** The attempt of this sign-in, whose counters are cleared. */
  attempt?: AttemptCounters;
};

/** A new session, the claims of its token, and the ids of the sessions that it replaced. */
export type CreatedSession = {
  session: { id: string; transport: Transport; expiresAt: Date };
  claims: Claims;
  revoked: string[];
};

/**
 * Creates a session with its security event, remembers the client, and revokes the account's oldest live sessions over
 * 20, in one statement. Returns null if `accountStatement` returns no account. The caller removes the devices of revoked sessions.
 */
export async function createSession(
  ctx: Pick<Context, "limits">,
  tx: Tx,
  now: Date,
  { account, accountStatement, event, authentication, transport, deviceName, attempt = [] }: NewSession,
  caller: Caller,
): Promise<CreatedSession | null> {
  const { idleMs, absoluteMs } = LIFETIMES[transport];
  const [idleExpiresAt, expiresAt] = [idleMs, absoluteMs].map((ms) => new Date(now.getTime() + ms)) as [Date, Date];
  const id = newId();
  const clients = await recognition({ ...ctx, now: () => now }, account, caller, {
    hasDeviceCookie: transport === "cookie",
  });
  const { aal, amr, authenticatedAt = now, operatorRights = true } = authentication;
  const keys = attempt.map(({ key }) => key);
  const cleared =
    keys.length > 0 ? sql`, cleared AS (${deleteCounters(keys, sql`EXISTS (SELECT FROM account)`)})` : empty;
  const [created] = await tx.$queryRaw<{ revoked: string[] }[]>`
    WITH account AS (${accountStatement}), session AS (
      INSERT INTO "Session" ("id", "accountId", "transport", "userAgent", "deviceName", "createdAt", "lastSeenAt",
        "authenticatedAt", "authenticatedFrom", "aal", "amr", "operatorRights", "idleExpiresAt", "expiresAt")
      SELECT ${id}::uuid, "id", ${transport}::"SessionTransport", ${caller.userAgent}, ${deviceName}, at, at,
        ${authenticatedAt}::timestamptz, ${placeOf(caller)}, ${aal}::smallint, ${amr}::text[], ${operatorRights}::boolean,
        ${idleExpiresAt}::timestamptz, ${expiresAt}::timestamptz
      FROM account, (SELECT ${now}::timestamptz AS at) AS clock
    ), revoked AS (
      UPDATE "Session" SET "revokedAt" = ${now}::timestamptz WHERE "id" IN (
        SELECT "id" FROM "Session" WHERE "accountId" = ${account.id}::uuid AND EXISTS (SELECT FROM account)
          AND "revokedAt" IS NULL AND "expiresAt" > ${now}::timestamptz AND "idleExpiresAt" > ${now}::timestamptz
        ORDER BY "createdAt" DESC, "id" DESC OFFSET ${MAX_SESSIONS - 1}::integer)
      RETURNING "id"
    ), event AS (${insertSecurityEvent(now, event, caller, sql`account`, { details: { amr } })}
    ), remembered AS (${clients.remember}), forgotten AS (${clients.forget})${cleared}
    SELECT ARRAY(SELECT "id" FROM revoked) AS "revoked" FROM account`;
  if (!created) return null;
  const claims = { sub: account.id, sid: id, epoch: account.sessionEpoch };
  return { session: { id, transport, expiresAt }, claims, revoked: created.revoked };
}
