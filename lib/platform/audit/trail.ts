import type { Context } from "../../context";
import { auditPseudonyms } from "./audit-pseudonym";

type Deps = Pick<Context, "config" | "db">;

/** An event's place in the trail. */
export type EventPosition = { at: Date; id: string };

/** An account's newest events, also after the account was deleted; those before `before`, if it is given. */
export async function listSecurityEvents(ctx: Deps, accountId: string, limit: number, before?: EventPosition) {
  return ctx.db.auditEvent.findMany({
    where: {
      accountId: { in: [accountId, ...auditPseudonyms(ctx.config, accountId)] },
      ...(before && { at: { lte: before.at }, OR: [{ at: { lt: before.at } }, { id: { lt: before.id } }] }),
    },
    omit: { accountId: true },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: limit,
  });
}
