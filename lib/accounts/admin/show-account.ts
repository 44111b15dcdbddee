import { readFactors } from "../../auth/second-factor/factors";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { listSecurityEvents } from "../../platform/audit/list-events";
import { readStatus } from "../../subscriptions/status/read-status";
import { SUMMARY } from "./account-columns";
import { listPurchases } from "./list-purchases";
import type { AccountDetails } from "./schema";

type Deps = Pick<Context, "config" | "db" | "now">;

const MAX_EVENTS = 50;

/** Shows an account with what support needs, newest first, and without anything secret. @throws AppError not_found */
export async function showAccount({ config, db, now }: Deps, id: string): Promise<AccountDetails> {
  const at = now();
  const found = await db.account.findUnique({
    where: { id },
    select: {
      ...SUMMARY,
      image: true,
      locale: true,
      updatedAt: true,
      passwordHash: true,
      identities: {
        select: { id: true, provider: true, subject: true, createdAt: true },
        orderBy: { createdAt: "asc" },
      },
      sessions: {
        where: { revokedAt: null, expiresAt: { gt: at }, idleExpiresAt: { gt: at } },
        orderBy: [{ createdAt: "desc" }, { id: "desc" }],
      },
      devices: { orderBy: [{ createdAt: "desc" }, { id: "desc" }] },
    },
  });
  if (found === null) throw new AppError("not_found");
  const { passwordHash, ...account } = found;
  const { status: subscription } = await readStatus({ config, db, now }, id); // links purchases that name the account
  return {
    ...account,
    hasPassword: passwordHash !== null,
    subscription,
    purchases: await listPurchases({ config, db, now }, id),
    factors: await readFactors({ db }, id),
    securityEvents: await listSecurityEvents({ config, db }, id, MAX_EVENTS),
  };
}
