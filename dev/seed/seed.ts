import type { PrismaClient } from "../../lib/platform/db/generated/client";
import { addAccount } from "./account";
import { addAdoption } from "./adoption";
import { addAnnouncements, addReceipts, countReceipts } from "./announcements";
import { addUnappliedEvents } from "./inbox";
import { createRandom } from "./random";
import { DAY_MS, Rows } from "./rows";
import { addStatistics } from "./statistics";
import { addSubscription } from "./subscription";

/** The accounts of one transaction. */
const BATCH = 500;
/** With it, there are ten events for each account. */
const SUBSCRIBERS = 0.94;
/** Purchases of customers who have not signed in, for each account. */
const STRANGERS = 0.003;

/**
 * Fills a database with a company's first years: accounts, sessions, phones, subscriptions with their events,
 * notifications, update checks. The same `seed` and `now` give the same rows.
 * @throws Error if somebody other than operators has an account
 */
export async function seedDatabase(
  { db, now }: { db: PrismaClient; now: Date },
  { accounts, seed, onProgress }: { accounts: number; seed: number; onProgress: (done: number) => void },
): Promise<void> {
  if (await db.account.findFirst({ where: { role: "user" }, select: { id: true } })) {
    throw new Error("The database has accounts. Seed an empty one: sample data looks like that of customers.");
  }
  const random = createRandom(seed);
  const rows = new Rows();
  const announcements = addAnnouncements(rows, random, now);
  for (let n = 1; n <= accounts; n++) {
    const { id, createdAt, deviceId } = addAccount(rows, random, n, now);
    if (random.chance(SUBSCRIBERS)) addSubscription(rows, random, { accountId: id, since: createdAt }, now);
    if (random.chance(STRANGERS)) {
      addSubscription(rows, random, { accountId: null, since: new Date(now.getTime() - 30 * DAY_MS) }, now);
    }
    addReceipts(rows, random, announcements, deviceId);
    if (n % BATCH !== 0) continue;
    await rows.insert(db);
    onProgress(n);
  }
  addUnappliedEvents(rows, random, accounts, now);
  await rows.insert(db);
  await countReceipts(db, random, announcements, now);
  await addAdoption(db, random, accounts, now);
  await addStatistics({ db, now }, rows, random, accounts);
  await db.$executeRaw`ANALYZE`;
  onProgress(accounts);
}
