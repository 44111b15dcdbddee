import { homeportLogins, parseLogins } from "../../fixtures/logins";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, parsePeer } from "../../lib/candidates";
import { type ApplyLoad, compare } from "../../lib/compare";
import { type RequestSpec, runClosedLoop } from "../../lib/load";
import type { Server } from "../../lib/server";
import { byThroughput, type Section } from "../../lib/table";

const TARGETS = { [NAMES.parseNative]: 0.95, [NAMES.parseJs]: 0.95 };

/** Log-ins with the correct password, eight concurrently, at bcrypt cost 10 on all servers. */
export async function login(bench: Bench): Promise<Section> {
  const prepare =
    (logins: (url: string) => Promise<() => RequestSpec>) =>
    async ({ url }: Server): Promise<ApplyLoad> => {
      const next = await logins(url);
      return (seconds) => runClosedLoop(url, { connections: 8, seconds }, next);
    };
  const results = await compare([
    homeport(bench, prepare(homeportLogins)),
    ...parsePeer(bench, prepare(parseLogins)),
    ...parsePeer(bench, prepare(parseLogins), NAMES.parseJs),
  ]);
  return { title: "login, bcrypt cost 10", rows: byThroughput(results, TARGETS), results };
}
