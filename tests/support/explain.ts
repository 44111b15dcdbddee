import type { SqlQuery, SqlQueryable } from "@prisma/driver-adapter-utils";
import type { PrismaClient } from "@/lib/platform/db/generated/client";
import { databaseOf, serverParts } from "@/lib/platform/db/open";
import { postgresAdapter } from "@/lib/platform/db/server/adapter";
import { ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";

/** A node of a plan (PostgreSQL, "EXPLAIN", FORMAT JSON), as far as it is read here. */
type PlanNode = { "Node Type": string; "Relation Name"?: string; "Index Cond"?: string; Plans?: PlanNode[] };

/**
 * Until the transaction is rolled back, the planner expects ten thousand rows in each page of a table, and of an empty
 * table what it expects of a new one. It knows nothing of the values, whether autovacuum analyzed the table or not.
 */
const AS_IF_LARGE = [
  // ANALYZE, of autovacuum as well, writes both of these tables in the other order: it has to wait, or both would.
  `DO $$ BEGIN EXECUTE (SELECT 'LOCK TABLE ' || string_agg(quote_ident(tablename), ', ') || ' IN SHARE UPDATE EXCLUSIVE MODE'
    FROM pg_tables WHERE schemaname = 'public'); END $$`,
  `UPDATE pg_class SET
    relpages = CASE WHEN pg_relation_size(oid) > 0 THEN 1 ELSE 0 END,
    reltuples = CASE WHEN pg_relation_size(oid) > 0 THEN 10000 ELSE -1 END
  WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  "DELETE FROM pg_statistic",
];

/**
 * Tables that are empty between two announcements or outages, and fill in seconds. Until autovacuum analyzes one again,
 * the planner believes that it is empty, however large it is.
 */
const QUEUES = ["QueuedPush", "QueuedEmail", "WebhookDelivery"];
const AS_IF_EMPTY = `UPDATE pg_class SET relpages = 1, reltuples = 0 WHERE relkind = 'r'
  AND relnamespace = 'public'::regnamespace AND relname = ANY('{${QUEUES.join(",")}}')`;

/** Tables of few rows, however many accounts and notifications there are. They are read as a whole. */
const SMALL_TABLES = ["BillingApiPause", "BillingSweep", "PushPause", "PushBroadcast", "WebhookEndpoint"];

/**
 * Runs statements on the test's database on PostgreSQL, and returns those that scan a large table without an index's condition, each as "TABLE:
 * STATEMENT". The planner prefers indexes and takes each table for a large one, so that the result does not
 * depend on their number; then it takes the queues for empty ones.
 * With `inOrder`, an index also has to return the rows in their order: a claim that sorts reads the whole queue.
 */
export async function statementsWithoutIndex(
  run: (db: PrismaClient) => Promise<unknown>,
  { inOrder = false } = {},
): Promise<string[]> {
  const [{ name } = { name: "" }] = await ctx().db.$queryRaw<{ name: string }[]>`SELECT current_database() AS name`;
  const preferring = new URL(`/${name}`, postgresUrl);
  const avoided = [
    "seqscan",
    "hashjoin",
    "mergejoin",
    "material",
    "memoize",
    ...(inOrder ? ["bitmapscan", "sort"] : []),
  ];
  const settings = avoided.map((name) => `-c enable_${name}=off`);
  preferring.searchParams.set("options", settings.join(" "));
  const factory = postgresAdapter(preferring.href, 2, () => {});
  const connect = factory.connect.bind(factory);
  const recorded = new Map<string, SqlQuery>();
  factory.connect = async () => {
    const adapter = record(await connect(), recorded);
    const startTransaction = adapter.startTransaction.bind(adapter);
    adapter.startTransaction = async (level) => record(await startTransaction(level), recorded);
    return adapter;
  };
  const database = databaseOf(factory, serverParts(preferring.href), true);
  try {
    await run(database.client);
    const statements = [...recorded.values()].filter(({ sql }) =>
      /^\s*(WITH|SELECT|INSERT|UPDATE|DELETE)\b/i.test(sql),
    );
    if (statements.length === 0) throw new Error("No statement was run");
    const adapter = await (await connect()).startTransaction();
    const tablesOf = async (query: SqlQuery) => {
      const { rows } = await adapter.queryRaw({ ...query, sql: `EXPLAIN (FORMAT JSON) ${query.sql}` });
      const [{ Plan }] = JSON.parse(String(rows[0]?.[0])) as [{ Plan: PlanNode }];
      return unindexedTables(Plan, inOrder).map((table) => `${table}: ${query.sql.replace(/\s+/g, " ").trim()}`);
    };
    try {
      const execute = (sql: string) => adapter.executeRaw({ sql, args: [], argTypes: [] });
      const tables = [];
      for (const sql of AS_IF_LARGE) await execute(sql);
      for (const statement of statements) tables.push(...(await tablesOf(statement)));
      await execute(AS_IF_EMPTY);
      for (const statement of statements) {
        const found = await tablesOf(statement);
        tables.push(...found.filter((text) => QUEUES.some((table) => text.startsWith(`${table}:`))));
      }
      return tables;
    } finally {
      // Closing the database waits for every connection to be released.
      await adapter.rollback();
    }
  } finally {
    await database.close();
  }
}

/** Adds the statements that run through a queryable to `recorded`, by their text. */
function record<Queryable extends SqlQueryable>(queryable: Queryable, recorded: Map<string, SqlQuery>): Queryable {
  const [queryRaw, executeRaw] = [queryable.queryRaw.bind(queryable), queryable.executeRaw.bind(queryable)];
  queryable.queryRaw = (query) => {
    recorded.set(query.sql, query);
    return queryRaw(query);
  };
  queryable.executeRaw = (query) => {
    recorded.set(query.sql, query);
    return executeRaw(query);
  };
  return queryable;
}

/** The tables that a plan reads other than by the condition of an index; with `inOrder` also "Sort". */
function unindexedTables(node: PlanNode, inOrder: boolean): string[] {
  const { "Node Type": type, "Relation Name": table, "Index Cond": condition, Plans = [] } = node;
  const isWholeTable = type === "Seq Scan" || (/^Index (Only )?Scan/.test(type) && !condition);
  const own =
    inOrder && type === "Sort" ? [type] : isWholeTable && table && !SMALL_TABLES.includes(table) ? [table] : [];
  return [...own, ...Plans.flatMap((plan) => unindexedTables(plan, inOrder))];
}
