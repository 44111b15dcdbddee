import type { Context } from "../../context";
import { AppError } from "../../errors";
import { isSameSecret } from "../../platform/keys/same-secret";
import type { Caller, Principal } from "../../principal";
import type { Aal, Amr } from "../sessions/authentication";
import { revokeSession } from "../sessions/sessions";
import type { AuthorizationRequest } from "./authorization-request";
import { findClient } from "./clients";
import { exchangeGrant, grantOf, newCode, sha256 } from "./granted-session";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "limits" | "now" | "removeDevices">;

const CODE_TTL_MS = 60 * 1000;

/** Issues a code for an account that has allowed a request. It works once, within 60 seconds. */
export async function issueCode(
  { db, now }: Pick<Deps, "db" | "now">,
  principal: Pick<Principal, "account" | "session">,
  { client, redirectUri, codeChallenge }: AuthorizationRequest,
): Promise<string> {
  const code = newCode();
  const createdAt = now();
  await db.authorizationCode.create({
    data: {
      codeHash: sha256(code),
      clientId: client.id,
      redirectUri,
      codeChallenge,
      ...grantOf(principal),
      authenticatedAt: principal.session.authenticatedAt,
      aal: principal.session.aal,
      amr: principal.session.amr,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + CODE_TTL_MS),
    },
  });
  return code;
}

type CodeExchange = { clientId: string; code: string; redirectUri: string; codeVerifier: string };

/**
 * Exchanges a code for a session. A code that is presented again ends the session that it was exchanged for (RFC 6749,
 * section 4.1.2), and any failed attempt uses it up.
 * @throws AppError invalid_client; invalid_grant if the code is invalid, used or expired; rate_limited after many unknown
 *   codes
 */
export async function exchangeCode(
  ctx: Deps,
  { clientId, code, redirectUri, codeVerifier }: CodeExchange,
  caller: Caller,
) {
  const client = findClient(ctx.config, clientId);
  const where = { codeHash: sha256(code), clientId };
  const [row] = await ctx.db.authorizationCode.updateManyAndReturn({
    where: { ...where, usedAt: null },
    data: { usedAt: ctx.now() },
  });
  if (!row) {
    await rejectReplay(ctx, where, caller);
    throw new AppError("invalid_grant");
  }
  const isProved = row.redirectUri === redirectUri && isSameSecret(row.codeChallenge, sha256(codeVerifier));
  if (!isProved || row.expiresAt <= ctx.now()) throw new AppError("invalid_grant");
  // As old as the authentication of the session that allowed it: a stolen one cannot get a fresh one this way.
  const { authenticatedAt, aal, amr } = row;
  const authentication = { aal: aal as Aal, amr: amr as Amr[], authenticatedAt: authenticatedAt ?? new Date(0) };
  return exchangeGrant(ctx, { client, grant: { ...row, ...authentication }, caller }, (sessionId) =>
    ctx.db.authorizationCode.updateMany({ where: { id: row.id, isReplayed: false }, data: { sessionId } }),
  );
}

/** Ends the session of a used code. Counts an unknown code against the caller. */
async function rejectReplay(ctx: Deps, where: { codeHash: string; clientId: string }, caller: Caller) {
  const [used] = await ctx.db.authorizationCode.updateManyAndReturn({ where, data: { isReplayed: true } });
  if (!used) return ctx.limits.consume("oauthTokenByIp", caller.ip);
  if (used.sessionId) await revokeSession(ctx, used.sessionId);
}
