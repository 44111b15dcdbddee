import type { Context } from "../../context";
import type { Prisma } from "../db/generated/client";
import { isUuid } from "../db/ids";
import { join, sql, uuidArray } from "../db/sql";
import { readPage } from "../lists";
import { auditPseudonyms } from "./retention";
import type { AuditEntry, AuditFilter, AuditPage, AuditQuery } from "./schema";

type Deps = Pick<Context, "config" | "db">;
/** An event's place in the trail. */
export type EventPosition = { at: Date; id: string };

/** The types that most rows have. The partial index of the others excludes them by name. */
const COMMON_TYPES: readonly string[] = ["signed_in", "signed_out", "registered"];

/** A page of the audit trail, newest first. @throws AppError invalid_query */
export async function listAuditEvents(deps: Deps, { limit, cursor, ...filter }: AuditQuery): Promise<AuditPage> {
  const { entries, nextCursor } = await readPage("audit", { limit, cursor }, async ({ after, take }) => {
    const last = after === null ? null : await findPosition(deps, after);
    return after !== null && last === null ? [] : readEvents(deps, filter, last, take);
  });
  return { events: [...entries], nextCursor };
}

export async function readEvents({ config, db }: Deps, filter: AuditFilter, after: EventPosition | null, take: number) {
  const conditions = conditionsOf(config, filter);
  if (after) conditions.push(sql`("at", event."id") < (${after.at}::timestamptz, ${after.id}::uuid)`);
  return db.$queryRaw<AuditEntry[]>`
    WITH event AS MATERIALIZED (
      SELECT * FROM "AuditEvent" AS event WHERE ${join([sql`true`, ...conditions], " AND ")}
      ORDER BY "at" DESC, event."id" DESC LIMIT ${take}::integer
    )
    SELECT event."id"::text, event."at", event."type", event."actor", event."accountId"::text, account."email",
      event."target", event."network", event."userAgent", event."details"
    FROM event LEFT JOIN "Account" AS account ON account."id" = event."accountId"
    ORDER BY event."at" DESC, event."id" DESC`;
}

async function findPosition({ db }: Pick<Deps, "db">, id: string): Promise<EventPosition | null> {
  return isUuid(id) ? db.auditEvent.findUnique({ where: { id }, select: { at: true, id: true } }) : null;
}

/** The conditions name what partial indexes exclude, so that PostgreSQL can use those. */
function conditionsOf(config: Deps["config"], { type, actor, target, account, from, to }: AuditFilter): Prisma.Sql[] {
  const conditions: Prisma.Sql[] = [];
  if (type !== undefined) {
    conditions.push(sql`"type" = ${type}`);
    if (!COMMON_TYPES.includes(type)) {
      conditions.push(sql`("type" <> ALL (ARRAY['signed_in'::text, 'signed_out'::text, 'registered'::text]))`);
    }
  }
  if (actor !== undefined) {
    conditions.push(sql`"actor" = ${actor}`);
    if (actor !== "account") conditions.push(sql`"actor" <> 'account'`);
  }
  if (target !== undefined) conditions.push(sql`"target" = ${target} AND "target" IS NOT NULL`);
  if (account !== undefined) {
    conditions.push(sql`"accountId" = ANY(${uuidArray([account, ...auditPseudonyms(config, account)])})`);
  }
  if (from) conditions.push(sql`"at" >= ${from}::timestamptz`);
  if (to) conditions.push(sql`"at" < ${to}::timestamptz`);
  return conditions;
}

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

/** What the actors of events are called now, by actor: the emails of operators, the names of API keys and publishers. */
export async function nameActors({ db }: Pick<Context, "db">, events: readonly Pick<AuditEntry, "actor">[]) {
  const idsOf = (kind: string) => {
    const ids = events.map(({ actor }) => actor).filter((actor) => actor.startsWith(kind));
    return [...new Set(ids.map((actor) => actor.slice(kind.length)).filter(isUuid))];
  };
  const accounts = await db.account.findMany({
    where: { id: { in: idsOf("account:") } },
    select: { id: true, email: true },
  });
  const keys = await db.apiKey.findMany({ where: { id: { in: idsOf("key:") } }, select: { id: true, name: true } });
  const publishers = await db.publisher.findMany({ where: { id: { in: idsOf("publisher:") } } });
  return new Map([
    ...accounts.map(({ id, email }) => [`account:${id}`, email] as const),
    ...keys.map(({ id, name }) => [`key:${id}`, name] as const),
    ...publishers.map(({ id, repository, issuer }) => [`publisher:${id}`, repository ?? issuer] as const),
  ]);
}
