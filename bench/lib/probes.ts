import { type ApplyLoad, type Candidate, compare, type Result } from "./compare";
import { type RequestSpec, runAtRate, runClosedLoop } from "./load";
import type { Server } from "./server";
import { type Goal, median, type Row, ratioSpread, type Section, type Spread, toRow } from "./table";

const CLIENTS = 32;
const PROBES_PER_SECOND = 100;

/** What 32 clients request of a server, and where it takes health probes. */
export type Probed = { candidate: string; health: string; requests: (url: string) => Promise<() => RequestSpec> };

/**
 * Health probes while 32 clients request something else. Throughput, in `unit`, and CPU are those of the requests, p50 and
 * p99 of the probes; the ratio is that of the p99. `toCandidates` is given what prepares a server.
 */
export async function compareProbed(
  { title, unit }: { title: string; unit: string },
  toCandidates: (prepare: (probed: Probed) => Candidate["prepare"]) => Candidate[],
  goalOf: (ratio: Spread) => Goal | null = () => null,
): Promise<Section> {
  const notes: (() => string)[] = [];
  const prepare = (probed: Probed) => async (server: Server) => {
    const { load, note } = await probedLoad(probed, server);
    notes.push(note);
    return load;
  };
  const results = await compare(toCandidates(prepare));
  return { title, rows: rowsOf(results, { name: unit, per: 1 }, goalOf), notes: notes.map((note) => note()), results };
}

async function probedLoad({ candidate, health, requests }: Probed, { url }: Server) {
  const next = await requests(url);
  const [quiet, busy]: [number[], number[]] = [[], []];
  const unexpected: Record<number, number> = {};
  const counted = (request: RequestSpec): RequestSpec => ({
    ...request,
    onUnexpectedStatus: (status) => {
      unexpected[status] = (unexpected[status] ?? 0) + 1;
    },
  });
  const probe = counted({ method: "GET", path: health, expectedStatus: 200 });
  const probing = (seconds: number) => runAtRate(url, { perSecond: PROBES_PER_SECOND, seconds }, () => probe);
  const load: ApplyLoad = async (seconds) => {
    quiet.push((await probing(seconds)).p99Ms);
    const loading = runClosedLoop(url, { connections: CLIENTS, seconds }, () => counted(next()));
    const [loaded, probed] = await Promise.all([loading, probing(seconds)]);
    busy.push(probed.p99Ms);
    return { ...loaded, p50Ms: probed.p50Ms, p99Ms: probed.p99Ms };
  };
  const note = () => {
    const ratio = median(busy.map((ms, i) => ms / (quiet[i] ?? Number.NaN)));
    const without = `p99 of health without the load ${median(quiet).toFixed(1)} ms`;
    return `${candidate}: ${without}, with it ${ratio.toFixed(1)} times as high; unexpected statuses: ${JSON.stringify(unexpected)}`;
  };
  return { load, note };
}

function rowsOf(
  [product, ...peers]: Result[],
  unit: { name: string; per: number },
  goalOf: (ratio: Spread) => Goal | null,
): Row[] {
  if (!product) return [];
  const compared = peers.map((peer) => {
    const ratio = ratioSpread(product, peer, "p99Ms");
    return toRow(peer, unit, ratio, goalOf(ratio));
  });
  return [toRow(product, unit), ...compared];
}
