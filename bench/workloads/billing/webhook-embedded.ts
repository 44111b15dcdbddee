import { mkdtemp } from "node:fs/promises";
import path from "node:path";
import { registerAccounts } from "../../fixtures/accounts";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { type Candidate, compare, type Result } from "../../lib/compare";
import { runClosedLoop } from "../../lib/load";
import { isSmoke } from "../../lib/scale";
import { byThroughput, type Section } from "../../lib/table";
import { deliveries } from "./webhook";

const CONNECTIONS = isSmoke ? [1] : [1, 16];
const ACCOUNTS = isSmoke ? 2 : 32;

/** The cost of flushing to disk with the embedded database: distinct signed purchases with `DATABASE_SYNC` on and off. */
export async function webhookEmbedded(bench: Bench): Promise<Section> {
  const compared: Result[][] = [];
  for (const connections of CONNECTIONS) {
    compared.push(
      await compare([await candidate(bench, "on", connections), await candidate(bench, "off", connections)]),
    );
  }
  return {
    title: "webhook, embedded database",
    rows: compared.flatMap((results) => byThroughput(results)),
    results: compared.flat(),
  };
}

async function candidate(bench: Bench, sync: string, connections: number): Promise<Candidate> {
  const DATA_DIR = await mkdtemp(path.join(bench.folder, "embedded-"));
  const env = { DATABASE_URL: "", DATABASE_SYNC: sync, DATA_DIR };
  const prepare: Candidate["prepare"] = async ({ url }) => {
    const next = deliveries(await registerAccounts(url, ACCOUNTS), []);
    return (seconds) => runClosedLoop(url, { connections, seconds }, next);
  };
  return { ...homeport(bench, prepare, env), name: `DATABASE_SYNC=${sync}, ${connections} at a time` };
}
