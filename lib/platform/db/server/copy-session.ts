import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Client } from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { hostUrls } from "../../config/database";
import { type CopySnapshot, copyTarget, quoted, wholeLines } from "../copy";
import { withSession } from "./adapter";
import { findHost } from "./hosts";

const CONNECT_TIMEOUT_MS = 10_000;
const LOCK_TIMEOUT_MS = 60_000;
const CHUNK_BYTES = 256 * 1024;
/** These settings decide how values are written as text (PostgreSQL 17, 19.11.2), and a server or role may have others. */
const FORMATS =
  "SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres'; SET extra_float_digits = 1; SET bytea_output = 'hex'";
const SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/**
 * Connects to PostgreSQL itself, not through PgBouncer, to copy tables without time limits for statements. With
 * `isSnapshot`, everything that the session reads is the state of one moment, while others write (PostgreSQL 17, 13.2.2).
 * The primary may refuse writes: the end of a move makes its source read-only.
 */
export async function openServerCopySession(url: string, { isSnapshot = false } = {}): Promise<CopySnapshot> {
  const client = new Client({
    connectionString: withSession(await findHost(hostUrls(url), "primary"), {
      lock_timeout: LOCK_TIMEOUT_MS,
      statement_timeout: 0,
      idle_in_transaction_session_timeout: 0,
      jit: "off",
    }),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "homeport-copy",
  });
  client.on("error", () => {}); // the running statement rejects with it
  await client.connect();
  await client.query(isSnapshot ? `${FORMATS}; ${SNAPSHOT}` : FORMATS);
  const select = (sql: string) => wholeLines(client.query(copyTo(`COPY (${sql}) TO STDOUT`)), CHUNK_BYTES);
  return {
    query: async <Row>(sql: string, values?: unknown[]) => (await client.query(sql, values)).rows as Row[],
    exec: async (script) => void (await client.query(script)),
    select,
    read: ({ name, columns }) => select(`SELECT ${columns.map(quoted).join(", ")} FROM ${quoted(name)}`),
    write: (table, chunks) =>
      pipeline(Readable.from(chunks), client.query(copyFrom(`COPY ${copyTarget(table)} FROM STDIN`))),
    close: () => client.end(),
  };
}
