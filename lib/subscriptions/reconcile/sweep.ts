import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "../../context";
import { seconds } from "../../platform/db/sql";
import { perObject } from "../../platform/per-object";
import { toStorableText } from "../../platform/storable";
import { receiveEvent } from "../inbox/consent";
import type { NewEvent } from "../inbox/store";
import { openSources } from "../sources/find-source";
import type { Source, SweepWindow } from "../sources/source";
import type { ReconcileDeps } from "./reconcile";
import { isPaused, MAX_PAUSE_SECONDS, pauseApi } from "./reconciler";

type Deps = ReconcileDeps & Pick<Context, "count" | "isDraining" | "removeDevices" | "webhooks" | "withdrawConsent">;
type EventSource = Source & Required<Pick<Source, "eventDays" | "readEvents">>;
type Claim = {
  attempts: number;
  found: number;
  position: string | null;
  readUntil: Date | null;
  untilTime: Date;
  leaseUntil: Date;
};

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** From the end of a sweep to the next one. */
const INTERVAL_SECONDS = 10 * 60;
/** What a list may show late is read again by the next sweep. */
const OVERLAP_MS = 10 * MINUTE_MS;
/** How far the first sweep reads back. */
const FIRST_MS = 3 * DAY_MS;
/** An event that is not older may be on its way. */
const DELIVERY_MS = 5 * MINUTE_MS;
/** Longer than a page takes. */
const LEASE_SECONDS = 2 * 60;
const RETRY_SECONDS = 60;
const MAX_RETRY_SECONDS = 60 * 60;
/** A position that the provider refuses so often is not used again: the sweep starts over. */
const MAX_ATTEMPTS_AT_POSITION = 3;
const MAX_FAILURE_LENGTH = 500;
/** How often those who wait look whether another process has finished. */
const POLL_MS = 100;

/**
 * Reads what the providers have sent since the last sweep, and applies the events that did not arrive: a lost cancellation,
 * refund or upgrade leaves no renewal overdue. One process at a time sweeps a provider. A page that was read is not read again
 * if the process is killed.
 */
export async function sweepProviders(deps: Deps): Promise<void> {
  await Promise.all(
    openSources(deps)
      .filter(hasEvents)
      .map((source) => sweep(deps, source)),
  );
}

/** The sweep that runs for those who cannot wait, and the next one, for all who have asked since it began. */
type Sweeps = { running: Promise<unknown>; next: Promise<boolean> | null };
const sweepsOf = perObject((_billing: Deps["billing"]): Sweeps => ({ running: Promise.resolve(), next: null }));

/**
 * Sweeps at once: a purchase that was just made is found although its webhook has not arrived. All who wait in this process
 * share the sweep that begins next. Returns whether all events of all providers were read.
 */
export function sweepNow(deps: Deps): Promise<boolean> {
  const own = sweepsOf(deps.billing);
  own.next ??= own.running.then(() => {
    own.next = null;
    const swept = Promise.all(
      openSources(deps)
        .filter(hasEvents)
        .map((source) => sweepOnceFree(deps, source)),
    );
    own.running = swept.catch(() => {});
    return swept.then((outcomes) => outcomes.every(Boolean));
  });
  return own.next;
}

/** Sweeps a provider once no other process does, until nobody waits any more. Gives up if the API has failed. */
async function sweepOnceFree(deps: Deps, source: EventSource): Promise<boolean> {
  const { config, db, dbNow } = deps;
  const { provider } = source;
  const endMs = performance.now() + config.BILLING_FRESH_TIMEOUT_MS;
  for (;;) {
    await db.$executeRaw`
      UPDATE "BillingSweep" SET "nextAt" = ${dbNow()}
      WHERE provider = ${provider} AND attempts = 0 AND "nextAt" > ${dbNow()}`;
    if (await sweep(deps, source)) return true;
    const [state] = await db.$queryRaw<{ mayRepeat: boolean }[]>`
      SELECT failure IS NULL AND NOT ${isPaused(dbNow, provider)} AS "mayRepeat" FROM "BillingSweep" WHERE provider = ${provider}`;
    if (!state?.mayRepeat || deps.isDraining || performance.now() >= endMs) return false;
    await delay(POLL_MS, undefined, { ref: false });
  }
}

const hasEvents = (source: Source): source is EventSource => source.readEvents !== undefined;

/** Reads the pages of a sweep that is due. Returns whether it was read to the end. */
async function sweep(deps: Deps, source: EventSource): Promise<boolean> {
  while (!deps.isDraining) {
    const next = delay(source.intervalMs, undefined, { ref: false });
    const page = await sweepPage(deps, source);
    await next;
    if (page !== "more") return page === "end";
  }
  return false;
}

/** Reads the next page of a sweep that is due. */
async function sweepPage(deps: Deps, source: EventSource): Promise<"more" | "end" | "none"> {
  const claim = await claimSweep(deps, source);
  if (!claim) return "none";
  try {
    const requestedAt = deps.now();
    const { events, next } = await source.readEvents(deps, windowOf(claim, source), requestedAt);
    const found = claim.found + (await applyMissing(deps, source, claim, events, requestedAt));
    await (next === null
      ? finish(deps, source, claim, found)
      : proceed(deps, source, claim, { found, position: next }));
    return next === null ? "end" : "more";
  } catch (error) {
    const { retryAfterSeconds } = error as { retryAfterSeconds?: number };
    if (retryAfterSeconds !== undefined) await pauseApi(deps, source.provider, retryAfterSeconds);
    else deps.log.warn({ err: error, provider: source.provider }, "a billing provider's events were not read");
    await fail(deps, source, claim, error as Error);
    return "none";
  }
}

function windowOf({ position, readUntil, untilTime: until }: Claim, { eventDays }: EventSource): SweepWindow {
  const from = readUntil ? readUntil.getTime() - OVERLAP_MS : until.getTime() - FIRST_MS;
  return { from: new Date(Math.max(from, until.getTime() - eventDays * DAY_MS)), until, position };
}

/**
 * Applies the events that are not stored. Returns how many of them should have arrived by now. Of a page whose first attempt was
 * interrupted, all are received again: as for a second delivery, what follows after an event's commit is completed.
 */
async function applyMissing(
  deps: Deps,
  { provider }: Source,
  { attempts }: Claim,
  events: NewEvent[],
  at: Date,
): Promise<number> {
  const ids = events.map(({ eventId }) => eventId);
  const stored = await deps.db.billingEvent.findMany({
    where: { provider, eventId: { in: ids } },
    select: { eventId: true },
  });
  const known = new Set(stored.map(({ eventId }) => eventId));
  const missing = events.filter(({ eventId }) => !known.has(eventId));
  // In one turn of the event loop: they are stored together.
  await Promise.all((attempts > 1 ? events : missing).map((event) => receiveEvent(deps, event)));
  const isLost = ({ event }: NewEvent) => event.facts.occurredAt.getTime() < at.getTime() - DELIVERY_MS;
  const lost = missing.filter(isLost).length;
  deps.count("billing_recovered", { provider, events: lost });
  return lost;
}

/** Claims the sweep of a provider if it is due, and begins it. Null: it is not, or the API is paused. */
async function claimSweep({ db, dbNow, now }: Deps, { provider }: Source): Promise<Claim | undefined> {
  const [claim] = await db.$queryRaw<Claim[]>`
    INSERT INTO "BillingSweep" AS sweep (provider, "nextAt", attempts, "untilTime")
    SELECT ${provider}, ${dbNow()} + ${seconds(LEASE_SECONDS)}, 1, ${now()}::timestamptz
    WHERE NOT ${isPaused(dbNow, provider)}
    ON CONFLICT (provider) DO UPDATE SET "nextAt" = EXCLUDED."nextAt", attempts = sweep.attempts + 1,
      "untilTime" = COALESCE(sweep."untilTime", EXCLUDED."untilTime")
    WHERE sweep."nextAt" <= ${dbNow()} OR sweep."nextAt" > ${dbNow()} + ${seconds(MAX_PAUSE_SECONDS)}
    RETURNING attempts, found, position, "readUntil", "untilTime", "nextAt" AS "leaseUntil"`;
  return claim;
}

type Row = { position: string | null; found: number; inSeconds: number; attempts: number; failure: string | null };

/** The lease identifies the claim. */
async function write({ db, dbNow }: Deps, { provider }: Source, { leaseUntil }: Claim, row: Row): Promise<void> {
  await db.$executeRaw`
    UPDATE "BillingSweep" SET "nextAt" = ${dbNow()} + ${seconds(row.inSeconds)}, attempts = ${row.attempts}::int,
      found = ${row.found}::int, position = ${row.position}, failure = ${row.failure}
    WHERE provider = ${provider} AND "nextAt" = ${leaseUntil}::timestamptz`;
}

const proceed = (deps: Deps, source: Source, claim: Claim, page: Pick<Row, "found" | "position">) =>
  write(deps, source, claim, { ...page, inSeconds: 0, attempts: 0, failure: null });

/** The next attempt of a page whose API is paused is due when the pause ends. */
async function fail(deps: Deps, source: Source, claim: Claim, error: Error & { retryAfterSeconds?: number }) {
  const { attempts, found, position } = claim;
  const isRefused = attempts >= MAX_ATTEMPTS_AT_POSITION && error.retryAfterSeconds === undefined;
  await write(deps, source, claim, {
    found,
    position: isRefused ? null : position,
    inSeconds: error.retryAfterSeconds ?? Math.min(RETRY_SECONDS * 2 ** (attempts - 1), MAX_RETRY_SECONDS),
    attempts,
    failure: toStorableText(error.message).slice(0, MAX_FAILURE_LENGTH),
  });
}

async function finish({ db, dbNow, log, now }: Deps, { provider }: Source, { leaseUntil }: Claim, found: number) {
  await db.$executeRaw`
    UPDATE "BillingSweep" SET "nextAt" = ${dbNow()} + ${seconds(INTERVAL_SECONDS)}, attempts = 0, failure = NULL,
      "readUntil" = "untilTime", "untilTime" = NULL, position = NULL, "finishedAt" = ${now()}::timestamptz,
      "lastFound" = ${found}::int, found = 0
    WHERE provider = ${provider} AND "nextAt" = ${leaseUntil}::timestamptz`;
  if (found > 0) log.warn({ provider, found }, "billing events that did not arrive were found: check the webhook");
}
