import { parseArgs } from "node:util";
import { loadConfig } from "../lib/platform/config";
import { openCommandDatabase } from "../scripts/command-database";
import { runCommandLine, UsageError } from "../scripts/command-line";
import { seedDatabase } from "./seed/seed";

const HELP = `Usage: npm run seed -- [--accounts 1000] [--seed 1]

Fills an empty database with invented accounts, subscriptions with about ten events each, notifications and update checks,
for demos and measurements. With the embedded database, stop the service first.`;

const MAX_ACCOUNTS = 10_000_000;

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { accounts: { type: "string", default: "1000" }, seed: { type: "string", default: "1" } },
  });
  const [accounts, seed] = [values.accounts, values.seed].map(Number);
  if (!isCount(accounts) || accounts > MAX_ACCOUNTS) throw new UsageError(`--accounts takes 1 to ${MAX_ACCOUNTS}.`);
  if (!isCount(seed)) throw new UsageError("--seed takes a positive integer.");
  const { client: db, close } = await openCommandDatabase(loadConfig());
  try {
    const onProgress = (done: number) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${accounts} accounts`);
    };
    await seedDatabase({ db, now: new Date() }, { accounts, seed, onProgress });
    if (process.stderr.isTTY) process.stderr.write("\n");
    const [events, deliveries] = [await db.billingEvent.count(), await db.pushReceipt.count()];
    console.log(`${accounts} accounts, ${events} billing events, ${deliveries} deliveries.`);
  } finally {
    await close();
  }
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value > 0;
}

runCommandLine(HELP, main).finally(() => process.exit());
