import type { Bench } from "../../lib/bench";
import { homeport, NAMES, nextStart } from "../../lib/candidates";
import { type ApplyLoad, compare, type Result } from "../../lib/compare";
import { type RequestSpec, runAtRate, runClosedLoop } from "../../lib/load";
import type { Server } from "../../lib/server";
import { median, ratioSpread, type Section, toRow } from "../../lib/table";

const CLIENTS = 32;
const PROBES_PER_SECOND = 100;
/** Every page for a signed-out visitor, and the page for unknown paths. */
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

/** Health probes while 32 clients request pages: throughput and CPU are those of the pages, p50 and p99 of the probes. */
export async function healthDuringPageLoad(bench: Bench): Promise<Section> {
  const notes: (() => string)[] = [];
  const prepare =
    (candidate: string) =>
    async ({ url }: Server): Promise<ApplyLoad> => {
      const quiet: number[] = [];
      const busy: number[] = [];
      const unexpected: Record<number, number> = {};
      let requested = 0;
      const health = (): RequestSpec => ({ method: "GET", path: "/api/health", expectedStatus: 200 });
      const page = (): RequestSpec => {
        const [path, expect] = PAGES[requested++ % PAGES.length] ?? ["/", 200];
        const onOther = (status: number) => {
          unexpected[status] = (unexpected[status] ?? 0) + 1;
        };
        return {
          method: "GET",
          path,
          expectedStatus: expect,
          onUnexpectedStatus: onOther,
          headers: { "accept-encoding": "gzip" },
        };
      };
      notes.push(() => {
        const ratio = median(busy.map((ms, i) => ms / (quiet[i] ?? Number.NaN)));
        const idle = median(quiet).toFixed(1);
        return `${candidate}: p99 of health without page requests ${idle} ms, with them ${ratio.toFixed(1)} times as high; unexpected statuses: ${JSON.stringify(unexpected)}`;
      });
      return async (seconds) => {
        const probing = () => runAtRate(url, { perSecond: PROBES_PER_SECOND, seconds }, health);
        quiet.push((await probing()).p99Ms);
        const loading = runClosedLoop(url, { connections: CLIENTS, seconds }, page);
        const [loaded, probed] = await Promise.all([loading, probing()]);
        busy.push(probed.p99Ms);
        return { ...loaded, p50Ms: probed.p50Ms, p99Ms: probed.p99Ms };
      };
    };
  const results = await compare([homeport(bench, prepare(NAMES.homeport)), ...nextStart(bench, prepare(NAMES.next))]);
  return {
    title: "health during 32 page requests: p50 and p99 of health",
    rows: rows(results),
    notes: notes.map((note) => note()),
    results,
  };
}

function rows([product, ...peers]: Result[]): Section["rows"] {
  if (!product) return [];
  const unit = { name: "pages/s", per: 1 };
  return [toRow(product, unit), ...peers.map((peer) => toRow(peer, unit, ratioSpread(product, peer, "p99Ms")))];
}
