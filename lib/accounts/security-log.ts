import type { Context } from "../context";

const MOST_SHOWN = 20;

/** What happened to an account lately, newest first: twenty events at most. */
export async function listSecurityEvents({ db }: Pick<Context, "db">, accountId: string) {
  return db.securityEvent.findMany({
    where: { accountId },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: MOST_SHOWN,
    select: { id: true, type: true, at: true, address: true, client: true },
  });
}
