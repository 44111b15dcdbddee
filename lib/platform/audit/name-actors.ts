import type { Context } from "../../context";
import { isUuid } from "../db/ids";
import type { AuditEntry } from "./schema";

/** What the actors of events are called now, by actor: the emails of operators, the names of API keys. */
export async function nameActors(
  { db }: Pick<Context, "db">,
  events: readonly Pick<AuditEntry, "actor">[],
): Promise<ReadonlyMap<string, string>> {
  const idsOf = (kind: string) => {
    const ids = events.map(({ actor }) => actor).filter((actor) => actor.startsWith(kind));
    return [...new Set(ids.map((actor) => actor.slice(kind.length)).filter(isUuid))];
  };
  const accounts = await db.account.findMany({
    where: { id: { in: idsOf("account:") } },
    select: { id: true, email: true },
  });
  const keys = await db.apiKey.findMany({ where: { id: { in: idsOf("key:") } }, select: { id: true, name: true } });
  return new Map([
    ...accounts.map(({ id, email }) => [`account:${id}`, email] as const),
    ...keys.map(({ id, name }) => [`key:${id}`, name] as const),
  ]);
}
