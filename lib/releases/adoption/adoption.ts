import { hkdfSync } from "node:crypto";
import type { Logger } from "pino";
import type { PrismaClient } from "../../platform/db/generated/client";
import { type AdoptionKey, DayCounts, type UpdateCheck } from "./day-counts";
import { storeCounts } from "./stored-counts";

/** Counts who runs which version. The `record…` functions work in memory and never throw. */
export type Adoption = {
  /** Counts a check. `clientId` is the client's id, or its network if it sends none; only a hash of it is used. */
  recordUpdateCheck: (check: UpdateCheck, clientId: string) => void;
  /** "started": the first byte was requested, or the client was redirected. "finished": the last byte was sent. */
  recordDownload: (download: AdoptionKey & { event: "started" | "finished" }) => void;
  /** Stores what was counted. What cannot be stored stays in memory. @throws the database's error */
  flush: () => Promise<void>;
  /** Stores what was counted, if the database is available. */
  close: () => Promise<void>;
};

type Deps = { db: PrismaClient; isOn: boolean; log: Pick<Logger, "warn">; now: () => Date; secrets: readonly string[] };

const nothing = async () => {};
const OFF: Adoption = { recordUpdateCheck: nothing, recordDownload: nothing, flush: nothing, close: nothing };

/** Checks that are hashed and counted together, which takes a third of the time of one by one: under a millisecond. */
const MAX_WAITING = 500;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Days that wait for the database. Beyond it, the oldest is discarded. */
const MAX_DAYS = 3;

/** Starts to count. Nothing is stored before the first `flush`. */
export function createAdoption({ db, isOn, log, now, secrets }: Deps): Adoption {
  if (!isOn) return OFF;
  const days = new Map<number, DayCounts>();
  const openDay = (day: number): DayCounts => {
    const [oldest] = days.size >= MAX_DAYS ? [...days.keys()].sort((a, b) => a - b) : [];
    if (oldest !== undefined) {
      days.delete(oldest);
      log.warn({ day: dateOf(oldest) }, "adoption counts discarded: the database was not available for days");
    }
    const counts = new DayCounts(dailySalt(secrets, dateOf(day)));
    days.set(day, counts);
    return counts;
  };
  const today = () => Math.floor(now().getTime() / DAY_MS);
  /** Two arrays, so that a request allocates nothing. */
  const waiting: UpdateCheck[] = [];
  const waitingClients: string[] = [];
  let waitingDay = 0;
  const countWaiting = () => {
    if (waiting.length === 0) return;
    const counts = days.get(waitingDay) ?? openDay(waitingDay);
    waiting.forEach((check, i) => {
      counts.countCheck(check, waitingClients[i] ?? "");
    });
    waiting.length = 0;
    waitingClients.length = 0;
  };
  const flush = async () => {
    countWaiting();
    const current = today();
    for (const [day, counts] of days) {
      const unstored = counts.take();
      try {
        while (unstored.length > 0) await storeCounts(db, dateOf(day), unstored);
        if (day !== current) days.delete(day);
      } catch (error) {
        counts.restore(unstored);
        throw error;
      }
    }
  };
  return {
    recordUpdateCheck: (check, clientId) => {
      const day = today();
      if (day !== waitingDay || waiting.length >= MAX_WAITING) countWaiting();
      waitingDay = day;
      waiting.push(check);
      waitingClients.push(clientId);
    },
    recordDownload: (download) => {
      const counts = days.get(today()) ?? openDay(today());
      counts.countDownload(download, download.event === "started" ? "downloadsStarted" : "downloadsFinished");
    },
    flush,
    close: () => flush().catch((error) => log.warn({ err: error }, "the last adoption counts could not be stored")),
  };
}

/** The UTC date of a day since 1970, such as "2026-11-22". */
function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/**
 * A salt that all processes derive and none stores (HKDF, RFC 5869). From the oldest secret, which a rotation changes
 * last: until then processes with and without the new one count alike.
 */
function dailySalt(secrets: readonly string[], date: string): string {
  const secret = secrets.at(-1) ?? "";
  return Buffer.from(hkdfSync("sha256", secret, date, "Homeport adoption salt", 32)).toString("base64url");
}
