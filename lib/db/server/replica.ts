import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { PrismaClient } from "../generated/client";
import type { ReadClient } from "../transaction";
import { postgresAdapter } from "./adapter";

/** How often the lag is measured. */
const CHECK_MS = 1_000;
/** A replica that takes longer to respond is not used. */
const MAX_CHECK_MS = 2_000;
/** A replica that lags more is not used. */
const MAX_LAG_MS = 5_000;

/** Reads that may be a few seconds old. */
export type Reads = {
  /** The standby's client while the standby keeps up, else the primary's. */
  client: () => ReadClient;
  /** How far the standby is behind in milliseconds, as of the last check; null while it is not used. Null: there is none. */
  lagMs: (() => number | null) | null;
  close: () => Promise<void>;
};

type Options = { url: string; poolSize: number; primary: PrismaClient; log: Logger; nowMs?: () => number };

/** A place in the primary's write-ahead log, and when the primary was there. */
type Position = { lsn: string; atMs: number };
type Server = { id: string; database: string };

/** Opens a standby, which is used once it responds and keeps up, and not while it is down, lags or is not a standby. */
export function openReplica({ url, poolSize, primary, log, nowMs = () => performance.now() }: Options) {
  const client = new PrismaClient({ adapter: postgresAdapter(url, poolSize, (error) => set(null, error)) });
  const measureLag = lagMeter(primary, client, nowMs);
  const closing = new AbortController();
  let lagMs: number | null = null;
  let reason = "";
  let running: Promise<void> | undefined;

  /** Logs what changes. */
  function set(next: number | null, error?: Error): void {
    if (next !== null && lagMs === null) log.info("reads that may be old go to the replica");
    if (error && error.message !== reason && !closing.signal.aborted)
      log.warn({ err: error }, "the replica is not used: reads go to the primary");
    [lagMs, reason] = [next, error?.message ?? ""];
  }
  const check = async () => {
    running ??= measureLag()
      .then(
        (measured) => set(measured),
        (error: Error) => set(null, error),
      )
      .finally(() => {
        running = undefined;
      });
    const isLate = await Promise.race([running, delay(MAX_CHECK_MS, true, { ref: false })]);
    if (isLate) set(null, new Error(`The check took longer than ${MAX_CHECK_MS} ms`));
  };
  const repeat = async () => {
    for (;;) {
      await check();
      await delay(CHECK_MS, undefined, { ref: false, signal: closing.signal });
    }
  };
  repeat().catch(() => {}); // closed
  return {
    client: () => (lagMs === null ? primary : client),
    lagMs: () => lagMs,
    check,
    close: async () => {
      closing.abort();
      await client.$disconnect();
    },
  };
}

/**
 * Returns what measures the lag in milliseconds: the age of the last position of the primary that the standby has replayed.
 * Unlike `pg_last_xact_replay_timestamp` this notices a standby that receives nothing any more, and is not misled by a
 * primary that has nothing to send.
 * @throws Error if the lag is above the limit, or the server is not a standby of the primary
 */
function lagMeter(primary: PrismaClient, standby: PrismaClient, nowMs: () => number): () => Promise<number> {
  let positions: Position[] = [];
  return async () => {
    const atMs = nowMs();
    const [source] = await primary.$queryRaw<(Server & { lsn: string })[]>`
      SELECT system_identifier::text AS id, current_database() AS database, pg_current_wal_lsn()::text AS lsn
      FROM pg_control_system()`;
    if (source) positions = [{ lsn: source.lsn, atMs }, ...positions].filter((one) => atMs - one.atMs <= MAX_LAG_MS);
    const [server] = await standby.$queryRaw<(Server & { replayed: boolean[] | null })[]>`
      SELECT system_identifier::text AS id, current_database() AS database,
        CASE WHEN pg_is_in_recovery() THEN ARRAY(
          SELECT pg_last_wal_replay_lsn() >= lsn::pg_lsn
          FROM unnest(${positions.map(({ lsn }) => lsn)}::text[]) WITH ORDINALITY AS position (lsn, place) ORDER BY place
        ) END AS replayed
      FROM pg_control_system()`;
    const isStandby = server?.replayed && server.id === source?.id && server.database === source.database;
    if (!isStandby) throw new Error("DATABASE_READ_URL is not a standby of the database in DATABASE_URL");
    const newest = positions[server.replayed?.indexOf(true) ?? -1];
    const lagMs = newest ? nowMs() - newest.atMs : Number.POSITIVE_INFINITY;
    if (lagMs > MAX_LAG_MS) throw new Error(`The replica lags more than ${MAX_LAG_MS} ms`);
    return lagMs;
  };
}
