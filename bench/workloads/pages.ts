import type { Bench } from "../lib/bench";
import { homeport, NAMES, nextStart } from "../lib/contenders";
import { flatOut, type Shot, steady } from "../lib/load";
import { type Drive, type Result, race } from "../lib/race";
import type { Server } from "../lib/server";
import { median, ratioOf, type Section, toRow } from "../lib/table";

const CLIENTS = 32;
const PROBES_PER_SECOND = 100;
/** Every page, as somebody who is not signed in sees it, and the page for what does not exist. */
const PAGES: [path: string, status: number][] = [
  ...[
    "/",
    "/sign-in",
    "/register",
    "/forgot",
    "/reset",
    "/verify",
    "/download",
    "/docs",
    "/docs/errors",
    "/deleted",
  ].map((path): [string, number] => [path, 200]),
  ...[["/account", 307] as [string, number], ["/account/delete", 307] as [string, number]],
  ["/nothing", 404],
];

/** What 32 clients that ask for every page do to a health probe: throughput and CPU are the pages', p50 and p99 the probe's. */
export async function pages(bench: Bench): Promise<Section> {
  const notes: (() => string)[] = [];
  const prepare =
    (contender: string) =>
    async ({ url }: Server): Promise<Drive> => {
      const quiet: number[] = [];
      const busy: number[] = [];
      const refused: Record<number, number> = {};
      let asked = 0;
      const health = (): Shot => ({ method: "GET", path: "/api/health", expect: 200 });
      const page = (): Shot => {
        const [path, expect] = PAGES[asked++ % PAGES.length] ?? ["/", 200];
        const onOther = (status: number) => {
          refused[status] = (refused[status] ?? 0) + 1;
        };
        return { method: "GET", path, expect, onOther, headers: { "accept-encoding": "gzip" } };
      };
      notes.push(() => {
        const ratio = median(busy.map((ms, i) => ms / (quiet[i] ?? Number.NaN)));
        const idle = median(quiet).toFixed(1);
        return `${contender}: health's p99 while nobody asks for pages ${idle} ms, so ${ratio.toFixed(1)} times that; other answers than expected: ${JSON.stringify(refused)}`;
      });
      return async (seconds) => {
        const probing = () => steady(url, { perSecond: PROBES_PER_SECOND, seconds }, health);
        quiet.push((await probing()).p99Ms);
        const asking = flatOut(url, { connections: CLIENTS, seconds }, page);
        const [answered, probed] = await Promise.all([asking, probing()]);
        busy.push(probed.p99Ms);
        return { ...answered, p50Ms: probed.p50Ms, p99Ms: probed.p99Ms };
      };
    };
  const results = await race([homeport(bench, prepare(NAMES.homeport)), nextStart(bench, prepare(NAMES.next))]);
  return {
    title: "every page by 32 clients: health's p50 and p99",
    rows: rows(results),
    notes: notes.map((note) => note()),
    results,
  };
}

function rows([product, ...peers]: Result[]): Section["rows"] {
  if (!product) return [];
  const unit = { name: "pages/s", per: 1 };
  return [toRow(product, unit), ...peers.map((peer) => toRow(peer, unit, ratioOf(product, peer, "p99Ms")))];
}
