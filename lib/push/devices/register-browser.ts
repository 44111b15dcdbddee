import { isDeepStrictEqual } from "node:util";
import type { Context, Tx, WebPushKeys } from "../../context";
import { AppError } from "../../errors";
import { recordSecurityEvent } from "../../platform/audit/security-events";
import type { Prisma, PushDevice } from "../../platform/db/generated/client";
import type { Caller } from "../../principal";
import { evidenceInvalid } from "../evidence/errors";
import { type Device, type RegisterBrowser, toDevice } from "../schema";
import { deviceVerified } from "./activation";
import { deviceLimitReached, lockOwner, MAX_DEVICES, type Owner } from "./registration";

type Deps = Pick<Context, "db" | "dbNow" | "limits" | "now" | "webhooks" | "webPush">;

/** What a subscription has in place of an APNs environment and a bundle ID. */
const TARGET = { environment: "web", bundleId: "web" } as const;

/**
 * Registers a browser's push subscription. It is active at once: only the browser knows its keys, and a message reaches
 * nobody without them. A subscription belongs to the account that registered it last; another account has to know its keys.
 * @throws AppError validation_failed, rate_limited, unauthenticated, device_limit_reached, evidence_invalid
 */
export async function registerBrowser(ctx: Deps, owner: Owner, body: RegisterBrowser, caller: Caller): Promise<Device> {
  const { endpoint } = body.subscription;
  const detail = ctx.webPush.validateEndpoint(new URL(endpoint));
  if (detail !== null) {
    const pointer = "/subscription/endpoint";
    throw new AppError("validation_failed", { errors: [{ pointer, code: "not_allowed", detail }] });
  }
  await ctx.limits.consume("pushRegisterByAccount", owner.account.id);
  return ctx.db.$transaction(async (tx) => {
    const at = await lockOwner(tx, ctx, owner);
    const known = await claimSubscription(tx, owner, body);
    const data = columnsOf(body, at, owner);
    const row = known
      ? await tx.pushDevice.update({ where: { id: known.id }, data })
      : await create(tx, at, owner, body, data);
    if (!known) {
      await recordSecurityEvent(tx, ctx.now(), owner.account.id, "device_verified", caller);
      await ctx.webhooks.record(tx, [deviceVerified(row)]);
    }
    return toDevice(row, owner.session.id);
  });
}

type KnownSubscription = Pick<PushDevice, "id" | "accountId"> & { webPushKeys: WebPushKeys };

/** Returns the account's own device, and deletes those of other accounts. Serializes the registrations of an endpoint. */
async function claimSubscription(tx: Tx, { account }: Owner, { subscription }: RegisterBrowser) {
  const { endpoint, keys } = subscription;
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${endpoint}, 0))`;
  const rows = await tx.$queryRaw<KnownSubscription[]>`
    SELECT "id"::text, "accountId"::text, "webPushKeys" FROM "PushDevice"
    WHERE "environment" = ${TARGET.environment}::"PushEnvironment" AND "bundleId" = ${TARGET.bundleId}
      AND "token" = ${endpoint}
    ORDER BY "id" FOR NO KEY UPDATE`;
  const others = rows.filter(({ accountId }) => accountId !== account.id);
  if (others.some(({ webPushKeys }) => !isDeepStrictEqual(webPushKeys, keys)))
    throw evidenceInvalid("subscription_mismatch");
  if (others.length > 0) await tx.pushDevice.deleteMany({ where: { id: { in: others.map(({ id }) => id) } } });
  return rows.find(({ accountId }) => accountId === account.id);
}

/** A browser that subscribes again has a new endpoint. Its device moves to it, with what is queued. */
async function create(
  tx: Tx,
  at: Date,
  { account }: Owner,
  { installationId, subscription }: RegisterBrowser,
  columns: ReturnType<typeof columnsOf>,
): Promise<PushDevice> {
  const ofAccount = { accountId: account.id };
  const verified = { ...columns, token: subscription.endpoint, status: "active" as const, verifiedAt: at };
  const [moved] = installationId ? await moveDevice(tx, { ...ofAccount, ...TARGET, installationId }, verified) : [];
  if (moved) return moved;
  if ((await tx.pushDevice.count({ where: ofAccount })) >= MAX_DEVICES) throw deviceLimitReached();
  return tx.pushDevice.create({ data: { ...ofAccount, ...TARGET, createdAt: at, ...verified } });
}

/** Moves the newest device of an installation, and deletes others. Returns none if a worker has deleted it. */
async function moveDevice(tx: Tx, where: Prisma.PushDeviceWhereInput, data: Prisma.PushDeviceUncheckedUpdateInput) {
  const newest = await tx.pushDevice.findFirst({ where, orderBy: { id: "desc" }, select: { id: true } });
  if (!newest) return [];
  await tx.pushDevice.deleteMany({ where: { ...where, id: { not: newest.id } } });
  return tx.pushDevice.updateManyAndReturn({ where: newest, data });
}

function columnsOf({ subscription, installationId, appUrl, device }: RegisterBrowser, at: Date, { session }: Owner) {
  const seen = { sessionId: session.id, registeredAt: at, lastSeenAt: at };
  return { ...device, installationId, appUrl, webPushKeys: subscription.keys, ...seen };
}
