import { mkdtemp } from "node:fs/promises";
import path from "node:path";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { compare } from "../../lib/compare";
import { runClosedLoop } from "../../lib/load";
import { byThroughput, type Section } from "../../lib/table";
import { prepare } from "./webhook";

const CONNECTIONS = [1, 16];

/** The cost of flushing to disk with the embedded database: distinct signed purchases with `DATABASE_SYNC` on and off. */
export async function webhookEmbedded(bench: Bench): Promise<Section> {
  const sections = [];
  for (const connections of CONNECTIONS) {
    const candidate = async (sync: string) => {
      const env = {
        DATABASE_URL: "",
        DATABASE_SYNC: sync,
        DATA_DIR: await mkdtemp(path.join(bench.folder, "embedded-")),
      };
      const drive = (url: string, seconds: number, next: Parameters<typeof runClosedLoop>[2]) =>
        runClosedLoop(url, { connections, seconds }, next);
      return {
        ...homeport(bench, (server) => prepare(server, [], drive), env),
        name: `sync ${sync}, ${connections} at a time`,
      };
    };
    sections.push(await compare([await candidate("on"), await candidate("off")]));
  }
  return {
    title: "webhook, embedded",
    rows: sections.flatMap((results) => byThroughput(results)),
    results: sections.flat(),
  };
}
