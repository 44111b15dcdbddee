import { homeportLogins, parseLogins } from "../../fixtures/logins";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, parsePeer } from "../../lib/candidates";
import { type ApplyLoad, compare, type Result } from "../../lib/compare";
import { type RequestSpec, runAtRate, runClosedLoop } from "../../lib/load";
import { SCALE } from "../../lib/scale";
import type { Server } from "../../lib/server";
import { atMost, ratioSpread, type Section, toRow } from "../../lib/table";

const CONCURRENT_LOGINS = 32;
const PROBES_PER_SECOND = 100;
/** The maximum of Homeport's p99 divided by Parse Server's. */
const MAX_RATIO = 0.2;

/** A candidate's responses to the probes. `failed` counts statuses other than 200. */
type Probes = { candidate: string; quietP99Ms: number; sent: number; failed: number };

/** Health probes during 32 concurrent log-ins: throughput and CPU are those of the log-ins, p50 and p99 of the probes. */
export async function healthDuringLogins(bench: Bench): Promise<Section> {
  const probes: Probes[] = [];
  const prepare =
    (candidate: string, path: string, logins: (url: string) => Promise<() => RequestSpec>) =>
    async ({ url }: Server): Promise<ApplyLoad> => {
      const next = await logins(url);
      const tally: Probes = { candidate, quietP99Ms: 0, sent: 0, failed: 0 };
      probes.push(tally);
      const health = (): RequestSpec => {
        tally.sent++;
        return { method: "GET", path, expectedStatus: 200, onUnexpectedStatus: () => tally.failed++ };
      };
      const probing = (seconds: number) => runAtRate(url, { perSecond: PROBES_PER_SECOND, seconds }, health);
      tally.quietP99Ms = (await probing(SCALE.roundSeconds)).p99Ms;
      return async (seconds) => {
        const loggingIn = runClosedLoop(url, { connections: CONCURRENT_LOGINS, seconds }, next);
        const [logged, probed] = await Promise.all([loggingIn, probing(seconds)]);
        return { ...logged, p50Ms: probed.p50Ms, p99Ms: probed.p99Ms };
      };
    };
  const results = await compare([
    homeport(bench, prepare(NAMES.homeport, "/api/health", homeportLogins)),
    ...parsePeer(bench, prepare(NAMES.parseNative, "/parse/health", parseLogins)),
    ...parsePeer(bench, prepare(NAMES.parseJs, "/parse/health", parseLogins), NAMES.parseJs),
  ]);
  const notes = probes.map(
    ({ candidate, quietP99Ms, sent, failed }) =>
      `${candidate}: p99 of health without log-ins ${quietP99Ms.toFixed(1)} ms; ${failed} of ${sent} probes failed`,
  );
  return { title: "health during 32 log-ins: p50 and p99 of health", rows: rows(results), notes, results };
}

function rows([product, ...peers]: Result[]): Section["rows"] {
  if (!product) return [];
  const unit = { name: "logins/s", per: 1 };
  const compared = peers.map((peer) => {
    const ratio = ratioSpread(product, peer, "p99Ms");
    const goal = { ...atMost(ratio, MAX_RATIO), target: `p99 ≤ ${MAX_RATIO}` };
    return toRow(peer, unit, ratio, goal);
  });
  return [toRow(product, unit), ...compared];
}
