import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import type { z } from "zod";
import type { AccountRecord } from "../../../lib/accounts/import/schema";
import { registerAccounts } from "../../fixtures/accounts";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { type LoadResult, runAtRate } from "../../lib/load";
import { memoryMiB, resetPeak } from "../../lib/process-usage";
import { isSmoke, RECORDS } from "../../lib/scale";
import { atLeast, atMost, median, type Row, type Section } from "../../lib/table";
import { UPDATE_CHECK } from "../releases/version";

const PROBES_PER_SECOND = 100;
const ROUND_SECONDS = isSmoke ? 1 : 4;
const QUIET_ROUNDS = isSmoke ? 1 : 5;
const MAX_MIB_OVER_IDLE = 80;
const MAX_P99_RATIO = 2;

/** Of the Firebase project. */
const SIGNER_KEY = randomBytes(64).toString("base64");

type Target = { name: string; env: Record<string, string>; minPerSecond: number };

/**
 * Accounts of a file, imported by `homeport accounts import` over HTTP, on PostgreSQL and the embedded database. Before and
 * meanwhile, 100 requests a second ask for the status of an account and for the update feed, in turn: `ratio` is of their
 * p99. `npm run bench -- import --records 1000000` takes 15 minutes.
 */
export async function importAccounts(bench: Bench): Promise<Section> {
  const file = path.join(bench.folder, "accounts.ndjson");
  await pipeline(Readable.from(records()), createWriteStream(file));
  const embedded = { DATABASE_URL: "", DATA_DIR: path.join(bench.folder, "embedded") };
  const rows = [
    ...(await measure(bench, file, { name: "PostgreSQL", env: {}, minPerSecond: 5_000 })),
    ...(await measure(bench, file, { name: "embedded database", env: embedded, minPerSecond: 1_500 })),
  ];
  return { title: `import of ${RECORDS.toLocaleString("en-US")} accounts`, rows };
}

async function measure(bench: Bench, file: string, { name, env, minPerSecond }: Target): Promise<Row[]> {
  const server = await homeport(bench, async () => Promise.reject(), env).start();
  try {
    const [{ token } = { token: "" }] = await registerAccounts(server.url, 1);
    const key = await run(["keys", "create", "bench", "--scope", "accounts:write"], { ...bench.env, ...env });
    const remote = { HOMEPORT_URL: server.url, HOMEPORT_API_KEY: key.trim() };
    const probe = () => probeOnce(server.url, token);
    await probe(); // warms up
    const quiet = [];
    for (let i = 0; i < QUIET_ROUNDS; i++) quiet.push(await probe());
    const idleMiB = memoryMiB(server.pid, "VmRSS");
    resetPeak(server.pid);
    const busy: LoadResult[] = [];
    const startedMs = performance.now();
    let seconds = 0;
    const importing = run(["accounts", "import", file, "--json"], remote).finally(() => {
      seconds = (performance.now() - startedMs) / 1000;
    });
    importing.catch(() => {}); // awaited below
    while (seconds === 0) busy.push(await probe());
    const { created, unchanged } = JSON.parse(await importing) as { created: number; unchanged: number };
    // A request that the service refused half-way, because it was busy, is sent again.
    if (created + unchanged !== RECORDS) throw new Error(`${created} of ${RECORDS} accounts were created`);
    const overIdleMiB = memoryMiB(server.pid, "VmHWM") - idleMiB;
    return rowsOf(name, { perSecond: RECORDS / seconds, minPerSecond, overIdleMiB, quiet, busy });
  } finally {
    await server.stop();
  }
}

async function run(args: string[], env: Record<string, string>): Promise<string> {
  const own = { PATH: process.env.PATH ?? "", NODE_ENV: "production" as const };
  const { stdout } = await promisify(execFile)("node", ["scripts/bin/homeport.mjs", ...args], {
    env: { ...own, ...env },
  });
  return stdout;
}

function probeOnce(url: string, token: string): Promise<LoadResult> {
  const status = { path: "/api/subscription/status", headers: { authorization: `Bearer ${token}` } };
  const paths = [status, { path: UPDATE_CHECK }];
  let sent = 0;
  return runAtRate(url, { perSecond: PROBES_PER_SECOND, seconds: ROUND_SECONDS }, () => ({
    method: "GET",
    expectedStatus: 200,
    ...(paths[sent++ % paths.length] as (typeof paths)[number]),
  }));
}

type Measured = {
  perSecond: number;
  minPerSecond: number;
  overIdleMiB: number;
  quiet: LoadResult[];
  busy: LoadResult[];
};

function rowsOf(name: string, { perSecond, minPerSecond, overIdleMiB, quiet, busy }: Measured): Row[] {
  const of = (rounds: LoadResult[], key: "p50Ms" | "p99Ms") => median(rounds.map((round) => round[key]));
  const ratio = of(busy, "p99Ms") / of(quiet, "p99Ms");
  const latencies = (rounds: LoadResult[]) => ({ p50Ms: of(rounds, "p50Ms"), p99Ms: of(rounds, "p99Ms") });
  return [
    { candidate: name, throughput: { figure: perSecond, unit: "/s" }, goal: atLeast(perSecond, minPerSecond, "/s") },
    { candidate: `${name}, over idle`, memoryMiB: overIdleMiB, goal: atMost(overIdleMiB, MAX_MIB_OVER_IDLE, " MiB") },
    { candidate: `${name}, other requests before`, ...latencies(quiet) },
    { candidate: `${name}, other requests meanwhile`, ...latencies(busy), ratio, goal: atMost(ratio, MAX_P99_RATIO) },
  ];
}

/** Of five accounts, four have a password, one an identity, and two an id of the billing provider. */
function* records(): Generator<string> {
  for (let i = 0; i < RECORDS; i++) {
    const record: z.input<typeof AccountRecord> = {
      email: `customer-${i}@example.com`,
      emailVerified: i % 10 !== 0,
      name: `Customer ${i}`,
      createdAt: new Date(1_600_000_000_000 + i * 100_000).toISOString(),
      externalId: `usr_${i}`,
      ...(i % 5 < 2 && { appUserIds: [`$RCAnonymousID:${i}`] }),
      ...(i % 5 === 4 ? { identities: [{ provider: "google", subject: `11${i}` }] } : { password: passwordOf(i % 5) }),
    };
    yield `${JSON.stringify(record)}\n`;
  }
}

function passwordOf(kind: number): z.input<typeof AccountRecord>["password"] {
  const base64 = (bytes: number) => randomBytes(bytes).toString("base64");
  const phc = () => [base64(16), base64(32)].map((text) => text.replaceAll("=", "")).join("$");
  if (kind === 0) return { format: "argon2", hash: `$argon2id$v=19$m=19456,t=2,p=1$${phc()}` };
  if (kind === 1)
    return { format: "better-auth", hash: `${randomBytes(16).toString("hex")}:${randomBytes(64).toString("hex")}` };
  if (kind === 2) {
    const project = { saltSeparator: "Bw==", signerKey: SIGNER_KEY, memoryCost: 14, rounds: 8 };
    return { format: "firebase-scrypt", hash: base64(64), salt: base64(10), ...project };
  }
  return { format: "bcrypt", hash: `$2b$10$${base64(60).replace(/[+=]/g, ".").slice(0, 53)}` };
}
