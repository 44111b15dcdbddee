import { randomInt } from "node:crypto";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { networkOf } from "../../platform/audit/security-events";
import type { DeviceCode } from "../../platform/db/generated/client";
import type { Caller, Principal } from "../../principal";
import { requireStepUp } from "../step-up";
import { findClient } from "./clients";
import { BY_OTHER_DEVICE, exchangeGrant, grantOf, newCode, sha256 } from "./granted-session";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "limits" | "now" | "removeDevices">;

/** Letters that form no words and are not taken for each other (RFC 8628, section 6.1). */
const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
const LENGTH = 8;
const GROUP_LENGTH = 4;

/** A random code for a person to type: 34 bits, "WDJB-MJHT". */
function newUserCode(): string {
  const letters = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return `${letters.slice(0, GROUP_LENGTH)}-${letters.slice(GROUP_LENGTH)}`;
}

/** A code as it was typed, without regard to case and to what is between the letters; null if it cannot be one. */
function parseUserCode(typed: string): string | null {
  const letters = typed.toUpperCase().replace(/[\s-]/g, "");
  const isCode = letters.length === LENGTH && [...letters].every((letter) => ALPHABET.includes(letter));
  return isCode ? `${letters.slice(0, GROUP_LENGTH)}-${letters.slice(GROUP_LENGTH)}` : null;
}

const TTL_SECONDS = 10 * 60;
const INTERVAL_SECONDS = 5;
/** The tolerated difference in network delay between two polls. */
const JITTER_MS = 1000;

/** Starts to authorize a device (RFC 8628, section 3.2). @throws AppError invalid_client, unauthorized_client */
export async function startDeviceAuthorization(ctx: Deps, clientId: string, caller: Caller) {
  const client = findClient(ctx.config, clientId);
  const mayUseGrant = client.deviceGrant ?? client.redirectUris.length === 0;
  if (!mayUseGrant) throw new AppError("unauthorized_client");
  const [deviceCode, userCode] = [newCode(), newUserCode()];
  const createdAt = ctx.now();
  await ctx.db.deviceCode.create({
    data: {
      deviceCodeHash: sha256(deviceCode),
      userCodeHash: await ctx.limits.pseudonymOf(userCode),
      clientId: client.id,
      network: networkOf(caller.ip),
      userAgent: caller.userAgent,
      intervalSeconds: INTERVAL_SECONDS,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + TTL_SECONDS * 1000),
    },
  });
  const page = `${ctx.config.baseUrl}/device`;
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?${new URLSearchParams({ user_code: userCode })}`,
    expires_in: TTL_SECONDS,
    interval: INTERVAL_SECONDS,
  };
}

/** What a person is shown before deciding: which app is asking, when it started to ask, and from which network. */
export type DeviceRequest = { userCode: string; clientName: string } & Pick<
  DeviceCode,
  "network" | "userAgent" | "createdAt"
>;

/**
 * The pending request of a user code. Counted against the account before the code is looked up, so that beyond the
 * limit not even the right code is found (RFC 8628, section 5.1). Known codes do not count.
 * @throws AppError invalid_user_code, rate_limited
 */
export async function findDeviceRequest(ctx: Deps, { account }: Pick<Principal, "account">, typed: string) {
  await ctx.limits.consume("userCodeByAccount", account.id);
  const userCode = parseUserCode(typed);
  const row = userCode && (await ctx.db.deviceCode.findUnique({ where: await pendingCode(ctx, userCode) }));
  const client = row && ctx.config.OAUTH_CLIENTS.find(({ id }) => id === row.clientId);
  if (!row || !client) throw new AppError("invalid_user_code");
  await ctx.limits.refund("userCodeByAccount", account.id);
  const { network, userAgent, createdAt } = row;
  return { userCode, clientName: client.name, network, userAgent, createdAt };
}

/** `operatorRights`: the device may do what the account's role allows, instead of what every user may. */
type Decision = { decision: "allow" | "deny"; operatorRights?: boolean | undefined };

/**
 * Records a person's decision about a device's request, once. Operators give their rights after a recent
 * authentication.
 * @throws AppError invalid_user_code, rate_limited, forbidden, reauthentication_required
 */
export async function decideDeviceRequest(
  ctx: Deps & Pick<Context, "hasher">,
  principal: Principal,
  typed: string,
  { decision, operatorRights = false }: Decision,
  caller: Caller,
): Promise<DeviceRequest> {
  const request = await findDeviceRequest(ctx, principal, typed);
  if (decision === "allow" && operatorRights) {
    if (principal.account.role === "user") throw new AppError("forbidden");
    await requireStepUp(ctx, principal, {}, caller);
  }
  const { count } = await ctx.db.deviceCode.updateMany({
    where: await pendingCode(ctx, request.userCode),
    data: decision === "allow" ? { ...grantOf(principal), operatorRights } : { deniedAt: ctx.now() },
  });
  if (count === 0) throw new AppError("invalid_user_code");
  return request;
}

async function pendingCode(ctx: Pick<Deps, "limits" | "now">, userCode: string) {
  const userCodeHash = await ctx.limits.pseudonymOf(userCode);
  return { userCodeHash, accountId: null, deniedAt: null, expiresAt: { gt: ctx.now() } };
}

/**
 * Exchanges a device code for a session, once a person has allowed it (RFC 8628, sections 3.4 and 3.5). A client that
 * polls too fast has to wait five seconds longer each time.
 * @throws AppError invalid_client; authorization_pending, slow_down, access_denied, expired_token; invalid_grant for an
 *   unknown or used code
 */
export async function exchangeDeviceCode(ctx: Deps, clientId: string, deviceCode: string, caller: Caller) {
  const client = findClient(ctx.config, clientId);
  const row = await recordPoll(ctx, clientId, sha256(deviceCode));
  if (!row) {
    await ctx.limits.consume("oauthTokenByIp", caller.ip);
    throw new AppError("invalid_grant");
  }
  if (row.deniedAt) throw new AppError("access_denied");
  if (row.expiresAt <= ctx.now()) throw new AppError("expired_token");
  if (row.isTooSoon) throw new AppError("slow_down");
  const { accountId, sessionEpoch, grantingSessionId, operatorRights } = row;
  if (accountId === null || sessionEpoch === null) throw new AppError("authorization_pending");
  const use = (where: { usedAt?: null }) =>
    ctx.db.deviceCode.updateMany({ where: { id: row.id, ...where }, data: { usedAt: ctx.now() } });
  if ((await use({ usedAt: null })).count === 0) throw new AppError("invalid_grant");
  const grant = { accountId, sessionEpoch, grantingSessionId, ...BY_OTHER_DEVICE, operatorRights };
  return exchangeGrant(ctx, { client, grant, caller }, () => use({}));
}

/** Records a poll, in one statement, so that concurrent requests count as too fast. */
async function recordPoll({ db, now }: Deps, clientId: string, deviceCodeHash: string) {
  const at = now();
  const [row] = await db.$queryRaw<(DeviceCode & { isTooSoon: boolean })[]>`
    UPDATE "DeviceCode" AS code SET "lastPolledAt" = ${at}::timestamptz,
      "intervalSeconds" = code."intervalSeconds" + CASE WHEN poll."isTooSoon" THEN ${INTERVAL_SECONDS}::integer ELSE 0 END
    FROM (
      SELECT "id", coalesce("lastPolledAt" + interval '1 second' * "intervalSeconds"
        > ${new Date(at.getTime() + JITTER_MS)}::timestamptz, false) AS "isTooSoon"
      FROM "DeviceCode" WHERE "deviceCodeHash" = ${deviceCodeHash} AND "clientId" = ${clientId} FOR UPDATE
    ) AS poll
    WHERE code."id" = poll."id"
    RETURNING code.*, poll."isTooSoon"`;
  return row;
}
