import { setImmediate as turn } from "node:timers/promises";
import type { PGlite } from "@electric-sql/pglite";
import { type CopySession, type CopySnapshot, copyTarget, quoted, wholeLines } from "../copy";
import type { WriteGate } from "./write-gate";

const PAGE_BYTES = 8192;
const MAX_PAGES = 512;
/** A batch of rows. It is in memory three times: in PGlite, as a blob and as a buffer. */
const BATCH_BYTES = 1024 * 1024;

/** Hooks around each statement, as the service's own statements have them. */
type Run = <T>(send: () => Promise<T>) => Promise<T>;

/**
 * Copies tables of the embedded database. Each batch is a statement of its own, so that the service's statements run
 * between them. To read a table while the service runs, pause writes: PGlite has one session, and therefore no snapshots.
 */
export function embeddedCopySession(pglite: Pick<PGlite, "query" | "exec">, run: Run = (send) => send()): CopySession {
  const query = async <Row>(sql: string, values?: unknown[]) =>
    run(async () => (await pglite.query<Row>(sql, values)).rows);
  const copyOut = (sql: string) =>
    run(async () => {
      const { blob } = await pglite.query(`COPY (${sql}) TO '/dev/blob'`);
      await turn(); // PGlite's promises resolve without a turn of the event loop, in which the service reads its sockets
      return blob ? Buffer.from(await blob.arrayBuffer()) : Buffer.alloc(0);
    });
  return {
    query,
    exec: (script) => run(async () => void (await pglite.exec(script))),
    select: async function* (sql) {
      const lines = await copyOut(sql);
      if (lines.length > 0) yield lines;
    },
    /** By ranges of pages (PostgreSQL 17, 5.5 "ctid"): they need no key, and take values of any size into account. */
    read: async function* (table) {
      const select = `SELECT ${table.columns.map(quoted).join(", ")} FROM ${quoted(table.name)}`;
      const sizes = await query<{ bytes: number }>("SELECT pg_relation_size($1::regclass) AS bytes", [
        quoted(table.name),
      ]);
      const pages = Math.ceil(Number(sizes[0]?.bytes) / PAGE_BYTES);
      let count = 1;
      for (let page = 0; page < pages; ) {
        const lines = await copyOut(`${select} WHERE ctid >= '(${page},0)' AND ctid < '(${page + count},0)'`);
        page += count;
        count = Math.min(MAX_PAGES, lines.length > BATCH_BYTES ? Math.ceil(count / 2) : count * 2);
        if (lines.length > 0) yield lines;
      }
    },
    write: async (table, chunks) => {
      for await (const lines of wholeLines(chunks, BATCH_BYTES)) {
        const blob = new Blob([new Uint8Array(lines)]);
        await run(() => pglite.query(`COPY ${copyTarget(table)} FROM '/dev/blob'`, [], { blob }));
      }
    },
  };
}

/** Opens a session in which nothing changes: pauses writes until it is closed. */
export async function snapshotOf(session: CopySession, gate: Pick<WriteGate, "pause">): Promise<CopySnapshot> {
  const resume = await gate.pause();
  return { ...session, close: async () => resume() };
}
