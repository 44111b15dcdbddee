import { setTimeout as delay } from "node:timers/promises";
import { type CopySession, type CopySnapshot, quoted, type Table } from "../copy";
import { openServerCopySession } from "../server/copy-session";
import { migrateServer } from "../server/migrate";
import type { Source } from "./move";
import { findMove, MoveError, type MoveTarget } from "./target";

/** Shorter than PostgreSQL's `deadlock_timeout` of 1 s: the move gives way before the service's statement is ended. */
const LOCK_TIMEOUT = "SET lock_timeout = '800ms'";
const MAX_LOCK_ATTEMPTS = 40;
const LOCK_RETRY_MS = 250;
/** SQLSTATEs of a lock that was not granted in time, and of a deadlock. */
const NOT_LOCKED = new Set(["55P03", "40P01"]);

const RESET_READ_ONLY = "RESET default_transaction_read_only";
/** The key of the advisory lock on a database that is moved, or moved into. */
const MOVE_LOCK = 4_076_779;
/** An interrupted move's connection may live on for some time. */
const MAX_WAIT_MS = 15_000;
const POLL_MS = 250;

/** The URL of a database without its password and its parameters. It may have several hosts. */
export const nameOf = (url: string): string =>
  url.replace(/^(\w+:\/\/[^:@/?#]*)(?::[^/?#]*)?@/, "$1@").replace(/[?#].*$/, "");

/**
 * Connects to a PostgreSQL database as the source. Instances may use it in the meantime.
 * @throws MoveError if another move is running, or the role does not own the database
 */
export async function openServerSource(url: string): Promise<Source & { close: () => Promise<void> }> {
  const session = await openLocked(url);
  try {
    // An interrupted move may have made the database read-only.
    await session.exec(`${LOCK_TIMEOUT}; SET default_transaction_read_only = off`);
    await requireOwner(url, session);
  } catch (error) {
    await session.close();
    throw error;
  }
  return {
    name: nameOf(url),
    session: { ...session, exec: (script) => untilLocked(() => session.exec(script)) },
    openSnapshot: () => openServerCopySession(url, { isSnapshot: true }),
    pause: (tables) => lockTables(url, tables),
    retire: () => changeDefault(session, "SET default_transaction_read_only = on"),
    reinstate: () => changeDefault(session, RESET_READ_ONLY),
    close: session.close,
  };
}

/** Connects to a PostgreSQL database as the target. @throws MoveError if another move is running */
export async function openServerTarget(url: string): Promise<MoveTarget> {
  const session = await openLocked(url);
  const isUnfinished = async () => {
    await session.close();
    const again = await openLocked(url);
    return (await findMove(again).finally(again.close)) !== null;
  };
  return {
    name: nameOf(url),
    session,
    migrate: () => migrateServer(url, () => {}),
    isUnfinished,
    close: session.close,
  };
}

/** Lets a database that was a source accept writes again. */
export async function acceptWrites(session: CopySession): Promise<void> {
  await session.exec(`ALTER DATABASE ${await ownName(session)} ${RESET_READ_ONLY}`);
}

async function openLocked(url: string): Promise<CopySnapshot> {
  const session = await openServerCopySession(url).catch((error: Error & { errors?: Error[] }) => {
    throw new MoveError(`${nameOf(url)} cannot be opened: ${error.errors?.[0]?.message ?? error.message}`);
  });
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const rows = await session.query<{ taken: boolean }>(`SELECT pg_try_advisory_lock(${MOVE_LOCK}) AS taken`);
    if (rows[0]?.taken) return session;
    if (performance.now() >= deadlineMs) break;
    await delay(POLL_MS);
  }
  await session.close();
  throw new MoveError(`Another \`homeport db move\` works on ${nameOf(url)}.`);
}

async function requireOwner(url: string, { query }: CopySession): Promise<void> {
  const rows = await query<{ isOwner: boolean }>(
    `SELECT pg_has_role(datdba, 'USAGE') AS "isOwner" FROM pg_database WHERE datname = current_database()`,
  );
  if (!rows[0]?.isOwner) throw new MoveError(`The role of ${nameOf(url)} must own the database, to stop its writes.`);
}

/** Locks all tables against writes until the session is closed. Writers wait for their `lock_timeout`, then fail. */
async function lockTables(url: string, tables: readonly Table[]): Promise<CopySnapshot> {
  const session = await openServerCopySession(url);
  const names = tables.map(({ name }) => quoted(name)).join(", ");
  try {
    await session.exec(LOCK_TIMEOUT);
    await untilLocked(
      () => session.exec(`BEGIN; LOCK TABLE ${names} IN SHARE MODE`),
      () => session.exec("ROLLBACK"),
    );
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Repeats what needs locks. A transaction that waits for them may hold others, so it gives up and begins again. */
async function untilLocked(run: () => Promise<void>, undo = async () => {}): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      await undo();
      if (attempt === MAX_LOCK_ATTEMPTS || !NOT_LOCKED.has((error as { code?: string }).code ?? "")) throw error;
      await delay(LOCK_RETRY_MS);
    }
  }
}

/** Changes a setting of the database for new sessions, and ends the others of its role: instances connect again. */
async function changeDefault(session: CopySession, setting: string): Promise<void> {
  await session.exec(`ALTER DATABASE ${await ownName(session)} ${setting}`);
  await session.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND usename = current_user AND application_name <> 'homeport-copy'`,
  );
}

async function ownName({ query }: CopySession): Promise<string> {
  const rows = await query<{ name: string }>("SELECT quote_ident(current_database()) AS name");
  return rows[0]?.name as string;
}
