import { parseLogins, productLogins } from "../fixtures/logins";
import type { Bench } from "../lib/bench";
import { homeport, NAMES, parseServer } from "../lib/contenders";
import { flatOut, type Shot } from "../lib/load";
import { type Drive, race } from "../lib/race";
import type { Server } from "../lib/server";
import { byThroughput, type Section } from "../lib/table";

const WANTED = { [NAMES.parseNative]: 0.95, [NAMES.parseJs]: 0.95 };

/** Log-ins with the right password, eight at a time, at bcrypt cost 10 on all sides. */
export async function login(bench: Bench): Promise<Section> {
  const prepare =
    (logins: (url: string) => Promise<() => Shot>) =>
    async ({ url }: Server): Promise<Drive> => {
      const next = await logins(url);
      return (seconds) => flatOut(url, { connections: 8, seconds }, next);
    };
  const results = await race([
    homeport(bench, prepare(productLogins)),
    parseServer(bench, prepare(parseLogins), "native"),
    parseServer(bench, prepare(parseLogins), "js"),
  ]);
  return { title: "login, bcrypt cost 10", rows: byThroughput(results, WANTED), results };
}
