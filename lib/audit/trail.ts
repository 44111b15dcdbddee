import type { Context } from "../context";
import { auditPseudonyms } from "./pseudonym";
import { takeOverSecurityEventsOf } from "./take-over";

type Deps = Pick<Context, "config" | "db">;

/** An account's newest events, also after the account was deleted. */
export async function listSecurityEvents(ctx: Deps, accountId: string, limit: number) {
  await takeOverSecurityEventsOf(ctx, accountId);
  return ctx.db.auditEvent.findMany({
    where: { accountId: { in: [accountId, ...auditPseudonyms(ctx.config, accountId)] } },
    omit: { accountId: true },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: limit,
  });
}
