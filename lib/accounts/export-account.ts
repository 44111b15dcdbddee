import { readFactors } from "../auth/second-factor/factors";
import { requireStepUp } from "../auth/step-up";
import type { Context, Tx } from "../context";
import { recordSecurityEvent } from "../platform/audit/security-events";
import type { Prisma } from "../platform/db/generated/client";
import type { Caller, Principal } from "../principal";
import { exportDevices } from "../push/devices/devices";
import { readPreferences } from "../push/preferences";
import { exportBilling } from "../subscriptions/export-billing";
import { toUser } from "./schema";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/**
 * Exports all data of an account from one snapshot, without password hashes, tokens and full device tokens. The
 * security event of the export is part of it.
 * @throws AppError reauthentication_required, rate_limited
 */
export async function exportAccount(ctx: Deps, principal: Principal, caller: Caller) {
  const accountId = principal.account.id;
  await requireStepUp(ctx, principal, {}, caller);
  await ctx.limits.consume("exportByAccount", accountId);
  const exportedAt = ctx.now();
  await recordSecurityEvent(ctx.db, exportedAt, accountId, "exported", caller);
  return readExport(ctx, accountId, exportedAt);
}

/** All data of an account from one snapshot. @throws if the account does not exist */
export async function readExport(ctx: Pick<Deps, "config" | "db">, accountId: string, exportedAt: Date) {
  const data = await ctx.db.$transaction((tx) => collect(tx, accountId), { isolationLevel: "RepeatableRead" });
  return { schema: "account-export" as const, schemaVersion: 1 as const, exportedAt, ...data };
}

export function exportFileName(exportedAt: Date): string {
  return `account-export-${exportedAt.toISOString().slice(0, 10)}.json`;
}

async function collect(tx: Tx, accountId: string) {
  const where = { accountId };
  const account = await tx.account.findUniqueOrThrow({ where: { id: accountId }, include: { aliases: true } });
  const { role, locale, externalId, updatedAt } = account;
  const appUserIds = account.aliases.map(({ appUserId }) => appUserId);
  return {
    account: { ...toUser(account), role, locale, externalId, appUserIds, updatedAt },
    identities: (
      await tx.identity.findMany({
        where,
        select: { provider: true, issuer: true, subject: true, createdAt: true, refreshToken: true },
      })
    ).map(({ refreshToken, ...identity }) => ({ ...identity, isRevokedOnDeletion: refreshToken !== null })),
    emailChanges: await tx.emailChange.findMany({
      where,
      select: { oldEmail: true, newEmail: true, createdAt: true, confirmedAt: true },
      orderBy: { createdAt: "asc" },
    }),
    sessions: (await tx.session.findMany({ where, omit: { accountId: true }, orderBy: { createdAt: "asc" } })).map(
      ({ userAgent: client, reconciledAt: billingAskedAt, ...session }) => ({ ...session, client, billingAskedAt }),
    ),
    factors: await readFactors({ db: tx }, accountId),
    devices: await exportDevices(tx, accountId),
    notificationPreferences: await readPreferences(tx, accountId),
    ...(await exportBilling(tx, accountId)),
    securityEvents: (await tx.auditEvent.findMany({ where, orderBy: [{ at: "asc" }, { id: "asc" }] })).map(
      ({ type, at, actor, network, userAgent, details }) => {
        // Who the operator is, where they were, and what they wrote for their colleagues, is not the owner's data.
        if (actor !== "account")
          return { type, at, actor: "operator", address: null, client: null, details: withoutReason(details) };
        return { type, at, actor, address: network, client: userAgent, details };
      },
    ),
  };
}

/** An event's details without the operator's reason, which `withReason` has added; null if nothing is left. */
function withoutReason(details: Prisma.JsonValue): object | null {
  const { reason: _, ...rest } = (details ?? {}) as Prisma.JsonObject;
  return Object.keys(rest).length === 0 ? null : rest;
}
