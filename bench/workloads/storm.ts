import { parseLogins, productLogins } from "../fixtures/logins";
import type { Bench } from "../lib/bench";
import { homeport, NAMES, parseServer } from "../lib/contenders";
import { flatOut, type Shot, steady } from "../lib/load";
import { type Drive, type Result, race } from "../lib/race";
import type { Server } from "../lib/server";
import { atMost, ratioOf, type Section, toRow } from "../lib/table";

const LOGINS_AT_ONCE = 32;
const PROBES_PER_SECOND = 25;
const QUIET_SECONDS = 4;
/** Of the product's p99 over Parse Server's. */
const MOST = 0.2;

/** What a contender's health said to the probes; `refused` counts answers other than 200. */
type Probes = { contender: string; quietP99Ms: number; sent: number; refused: number };

/** What 32 log-ins at a time do to a health probe: throughput and CPU are the log-ins', p50 and p99 the probe's. */
export async function storm(bench: Bench): Promise<Section> {
  const probes: Probes[] = [];
  const prepare =
    (contender: string, path: string, logins: (url: string) => Promise<() => Shot>) =>
    async ({ url }: Server): Promise<Drive> => {
      const next = await logins(url);
      const tally: Probes = { contender, quietP99Ms: 0, sent: 0, refused: 0 };
      probes.push(tally);
      const health = (): Shot => {
        tally.sent++;
        return { method: "GET", path, expect: 200, onOther: () => tally.refused++ };
      };
      const probing = (seconds: number) => steady(url, { perSecond: PROBES_PER_SECOND, seconds }, health);
      tally.quietP99Ms = (await probing(QUIET_SECONDS)).p99Ms;
      return async (seconds) => {
        const storming = flatOut(url, { connections: LOGINS_AT_ONCE, seconds }, next);
        const [logged, probed] = await Promise.all([storming, probing(seconds)]);
        return { ...logged, p50Ms: probed.p50Ms, p99Ms: probed.p99Ms };
      };
    };
  const results = await race([
    homeport(bench, prepare(NAMES.homeport, "/api/health", productLogins)),
    parseServer(bench, prepare(NAMES.parseNative, "/parse/health", parseLogins), "native"),
    parseServer(bench, prepare(NAMES.parseJs, "/parse/health", parseLogins), "js"),
  ]);
  const notes = probes.map(
    ({ contender, quietP99Ms, sent, refused }) =>
      `${contender}: health's p99 while nobody logs in ${quietP99Ms.toFixed(1)} ms; ${refused} of ${sent} probes refused`,
  );
  return { title: "login storm: health's p50 and p99", rows: rows(results), notes, results };
}

function rows([product, ...peers]: Result[]): Section["rows"] {
  if (!product) return [];
  const unit = { name: "logins/s", per: 1 };
  const compared = peers.map((peer) => {
    const ratio = ratioOf(product, peer, "p99Ms");
    const verdict = { ...atMost(ratio, MOST), wanted: `p99 ≤ ${MOST}` };
    return toRow(peer, unit, ratio, verdict);
  });
  return [toRow(product, unit), ...compared];
}
