import type { PrismaClient } from "../../lib/platform/db/generated/client";
import { DayCounts } from "../../lib/releases/adoption/day-counts";
import { storeCounts } from "../../lib/releases/adoption/stored-counts";
import type { Random } from "./random";
import { DAY_MS } from "./rows";

const DAYS = 60;
const MAX_CLIENTS = 5_000;
/** The versions of the sample catalog, oldest first, and how many days ago each was published. */
const VERSIONS = [
  { version: "1.0.0", daysAgo: 80 },
  { version: "1.1.0", daysAgo: 20 },
];
/** How long it takes until half of the clients that are left have updated. */
const HALF_LIFE_DAYS = 4;
const PLATFORMS = ["windows", "windows", "macos"] as const;

/** Stores the update checks of two months, in which version 1.1.0 was published. */
export async function addAdoption(db: PrismaClient, random: Random, accounts: number, now: Date): Promise<void> {
  for (let daysAgo = DAYS; daysAgo >= 0; daysAgo--) {
    const counts = new DayCounts(String(daysAgo));
    const untilNow = daysAgo === 0 ? (now.getTime() % DAY_MS) / DAY_MS : 1;
    for (let client = 0; client < Math.min(accounts, MAX_CLIENTS) * untilNow; client++)
      countChecks(counts, random, client, daysAgo);
    const entries = counts.take();
    const day = new Date(now.getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10);
    while (entries.length > 0) await storeCounts(db, day, entries);
  }
}

function countChecks(counts: DayCounts, random: Random, client: number, daysAgo: number): void {
  const platform = PLATFORMS[client % PLATFORMS.length] ?? "windows";
  const target = { product: "core", platform, architecture: "x64", channel: "stable" };
  const newest = VERSIONS.findLast((one) => one.daysAgo >= daysAgo) ?? VERSIONS[0];
  const oldest = VERSIONS[0]?.version ?? "";
  if (!newest) return;
  const isOld = random.next() < 0.5 ** ((newest.daysAgo - daysAgo) / HALF_LIFE_DAYS);
  const installed = { ...target, version: isOld ? oldest : newest.version };
  const isOffered = installed.version !== newest.version;
  const check = { installed, offered: isOffered ? { ...target, version: newest.version } : null };
  counts.countCheck(check, `client ${client}`);
}
