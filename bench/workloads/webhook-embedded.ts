import { mkdtemp } from "node:fs/promises";
import path from "node:path";
import type { Bench } from "../lib/bench";
import { homeport } from "../lib/contenders";
import { flatOut } from "../lib/load";
import { race } from "../lib/race";
import { byThroughput, type Section } from "../lib/table";
import { prepare } from "./webhook";

const CONNECTIONS = [1, 16];

/** What it costs that the embedded database waits for the disk: distinct signed purchases, with `DATABASE_SYNC` and without. */
export async function webhookEmbedded(bench: Bench): Promise<Section> {
  const sections = [];
  for (const connections of CONNECTIONS) {
    const contender = async (sync: string) => {
      const env = {
        DATABASE_URL: "",
        DATABASE_SYNC: sync,
        DATA_DIR: await mkdtemp(path.join(bench.folder, "embedded-")),
      };
      const drive = (url: string, seconds: number, next: Parameters<typeof flatOut>[2]) =>
        flatOut(url, { connections, seconds }, next);
      return {
        ...homeport(bench, (server) => prepare(server, [], drive), env),
        name: `sync ${sync}, ${connections} at a time`,
      };
    };
    sections.push(await race([await contender("on"), await contender("off")]));
  }
  return {
    title: "webhook, embedded",
    rows: sections.flatMap((results) => byThroughput(results)),
    results: sections.flat(),
  };
}
