import { updateStatistics } from "../../../lib/platform/statistics";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { percentile } from "../../lib/load";
import { isSmoke, SCALE } from "../../lib/scale";
import { atMost, median, type Row, type Section, spread } from "../../lib/table";
import { type ConsolePage, listPages } from "./pages";
import { signInAdmin, withSeededDatabase } from "./seeded";

const MAX_P95_MS = 300;
/** Of each page, in a round. */
const CALLS = isSmoke ? 1 : 40;
const WARM_UP_CALLS = isSmoke ? 0 : 5;
/** What the next page of a list is looked for on, and added. */
const PAGED = ["accounts", "billing inbox", "deliveries", "audit trail"];

type Took = { page: number[]; health: number[] };
type Rounds = { page: ConsolePage; rounds: Took[] };

/** Every page of the console on a database that `npm run seed` filled, one request at a time, and health in between. */
export async function consolePages(bench: Bench): Promise<Section> {
  const counts: number[] = [];
  const seeded = await withSeededDatabase(bench, async (db) => {
    const count = async () => {
      const startedAt = performance.now();
      await updateStatistics({ db, now: () => new Date() });
      counts.push(performance.now() - startedAt);
    };
    for (let i = 0; i <= SCALE.rounds; i++) await count();
  });
  const cookie = await signInAdmin(bench);
  const pages = await listPages(bench.database);
  const server = await homeport(bench, () => Promise.reject()).start();
  try {
    const read = (path: string) => readPage(server.url + path, cookie);
    for (const name of PAGED) pages.push(...(await nextPageOf(pages, name, read)));
    const measured = pages.map((page): Rounds => ({ page, rounds: [] }));
    for (const { page } of measured) await measurePage(server.url, page.path, read, WARM_UP_CALLS);
    for (let i = 0; i < SCALE.rounds; i++) {
      for (const { page, rounds } of measured) rounds.push(await measurePage(server.url, page.path, read, CALLS));
    }
    return {
      title: "console",
      rows: [healthRow(measured), ...measured.map(toRow), ...countRows(counts)],
      notes: [
        `${seeded.accounts.toLocaleString("en-US")} accounts were added in ${seeded.seconds.toFixed(0)} s, with ten billing events and three deliveries each`,
      ],
    };
  } finally {
    await server.stop();
  }
}

type Read = (path: string) => Promise<string>;

/** @throws Error if the page is not shown, or has an error in place of its content */
async function readPage(url: string, cookie: string): Promise<string> {
  const response = await fetch(url, { headers: { cookie, "accept-encoding": "gzip" }, redirect: "manual" });
  const html = await response.text();
  const isShown = response.status === 200 && !html.includes('class="state failed"');
  if (!isShown) throw new Error(`${url} responded ${response.status}: ${html.slice(0, 500)}`);
  return html;
}

/** The page that follows a page of a list, if there is one. */
async function nextPageOf(pages: ConsolePage[], name: string, read: Read): Promise<ConsolePage[]> {
  const page = pages.find((one) => one.name === name);
  if (!page) throw new Error(`Unknown page: ${name}`);
  const [, cursor] = /[?&](?:amp;)?cursor=([\w-]+)/.exec(await read(page.path)) ?? [];
  return cursor ? [{ name: `${name}, the next page`, path: `${page.path}?cursor=${cursor}` }] : [];
}

async function measurePage(url: string, path: string, read: Read, calls: number): Promise<Took> {
  const took: Took = { page: [], health: [] };
  const timed = async (request: () => Promise<unknown>) => {
    const startedAt = performance.now();
    await request();
    return performance.now() - startedAt;
  };
  for (let i = 0; i < calls; i++) {
    took.page.push(await timed(() => read(path)));
    took.health.push(await timed(async () => (await fetch(`${url}/api/health`)).text()));
  }
  return took;
}

const p50 = (tookMs: number[]) => percentile(tookMs, 0.5);
const p95 = (tookMs: number[]) => percentile(tookMs, 0.95);

/** The ratio is that of the page's p95 to health's in the same round. */
function toRow({ page, rounds }: Rounds): Row {
  const p95Ms = spread(rounds.map((took) => p95(took.page)));
  return {
    candidate: page.name,
    p50Ms: spread(rounds.map((took) => p50(took.page))),
    p95Ms,
    ratio: spread(rounds.map((took) => p95(took.page) / p95(took.health))),
    goal: atMost(p95Ms, MAX_P95_MS, " ms"),
  };
}

function healthRow(measured: Rounds[]): Row {
  const rounds = Array.from({ length: SCALE.rounds }, (_, i) => measured.flatMap((one) => one.rounds[i]?.health ?? []));
  return { candidate: "/api/health", p50Ms: spread(rounds.map(p50)), p95Ms: spread(rounds.map(p95)) };
}

/** What the service counts for the overview, every five minutes. */
function countRows([first = Number.NaN, ...others]: number[]): Row[] {
  return [
    { candidate: "counting for the overview, the first time", p50Ms: first },
    { candidate: "counting for the overview, again", p50Ms: median(others) },
  ];
}
