import { randomInt, randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import bcrypt from "bcryptjs";
import { SMTPServer } from "smtp-server";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { isSmoke } from "../../lib/scale";
import { signedRankP } from "../../lib/signed-rank";
import { median, type Row, type Section } from "../../lib/table";

/** For each endpoint. Every email is used once for each, known or not, so that their counters are the same. */
const PAIRS = isSmoke ? 4 : 2_000;
const PASSWORD = "correct horse battery staple";
/** The costs of the accounts' hashes. */
const COSTS = [10, 11];
/** Of four endpoints that do not differ, one in 250 runs has a smaller one. */
const MIN_P = 0.001;

const ENV = { RATE_LIMITS: "on", TRUSTED_PROXY_HOPS: "1", AUTH_REQUIRE_VERIFIED_EMAIL: "true" };

type Endpoint = { title: string; path: string; cost?: number; body: (email: string) => object };
type Pair = { known: number; unknown: number };

const ENDPOINTS: Endpoint[] = [
  {
    title: "login, wrong password",
    path: "/api/auth/login",
    cost: Math.max(...COSTS), // half of the hashes are of a lower one
    body: (email) => ({ email, password: "a wrong one" }),
  },
  { title: "reset/request", path: "/api/auth/reset/request", body: (email) => ({ email }) },
  { title: "verification/resend", path: "/api/auth/verification/resend", body: (email) => ({ email }) },
  { title: "register", path: "/api/auth/register", body: (email) => ({ email, password: PASSWORD }) },
];

/**
 * Whether response times reveal that an email has an account: pairs of a known and an unknown email in random order, one
 * request at a time, with rate limits, where emails have to be verified. `ratio` is of the medians, and the p value that
 * of Wilcoxon's signed-rank test.
 */
export async function accountEnumeration(bench: Bench): Promise<Section> {
  const known = await addVerifiedAccounts(bench);
  const mailServer = await startMailServer();
  const rows: Row[] = [];
  const notes: string[] = [];
  for (const endpoint of ENDPOINTS) {
    const { cost = Math.min(...COSTS) } = endpoint;
    const server = await homeport(bench, async () => Promise.reject(), {
      ...ENV,
      SMTP_URL: mailServer.url,
      BCRYPT_COST: `${cost}`,
    }).start();
    const pairs = await measure(server.url, endpoint, known);
    await server.stop();
    rows.push(...rowsOf(endpoint, pairs));
    notes.push(noteOf(endpoint, pairs));
  }
  mailServer.close();
  return { title: "account enumeration: known and unknown emails", rows, notes };
}

/** Inserts an account for each pair. Those of one cost have the same hash. Returns their emails. */
async function addVerifiedAccounts({ database }: Bench): Promise<string[]> {
  const hashes = await Promise.all(COSTS.map((cost) => bcrypt.hash(PASSWORD, cost)));
  const { rows } = await database.query<{ email: string }>(
    `INSERT INTO "Account" ("id", "email", "emailVerifiedAt", "passwordHash", "updatedAt")
     SELECT gen_random_uuid(), gen_random_uuid() || '@example.com', now(), ($2::text[])[1 + i % 2], now()
     FROM generate_series(1, $1::int) AS i RETURNING "email"`,
    [PAIRS, hashes],
  );
  return rows.map(({ email }) => email);
}

/** Starts a mail server that forgets every email. */
async function startMailServer(): Promise<{ url: string; close: () => void }> {
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    onData: (stream, _, callback) => void stream.on("end", callback).resume(),
  });
  const listener = server.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  return { url: `smtp://127.0.0.1:${port}`, close: () => server.close() };
}

async function measure(url: string, { path, body }: Endpoint, known: string[]): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (const email of known) {
    const emails = { known: email, unknown: `${randomUUID()}@example.com` };
    const pair: Pair = { known: 0, unknown: 0 };
    const order = (["known", "unknown"] as const).toSorted(() => (randomInt(2) === 0 ? 1 : -1));
    for (const kind of order) pair[kind] = await timed(url + path, body(emails[kind]));
    pairs.push(pair);
  }
  return pairs;
}

function mediansOf(pairs: Pair[]): Pair {
  return { known: median(pairs.map(({ known }) => known)), unknown: median(pairs.map(({ unknown }) => unknown)) };
}

const pOf = (pairs: Pair[]) => signedRankP(pairs.map(({ known, unknown }) => known - unknown));

function rowsOf({ title }: Endpoint, pairs: Pair[]): Row[] {
  const medians = mediansOf(pairs);
  const goal = { target: `p ≥ ${MIN_P}`, isMet: pOf(pairs) >= MIN_P };
  return [
    { candidate: `${title}, unknown`, p50Ms: medians.unknown, ratio: 1 },
    { candidate: `${title}, known`, p50Ms: medians.known, ratio: medians.known / medians.unknown, goal },
  ];
}

function noteOf({ title }: Endpoint, pairs: Pair[]): string {
  const { known, unknown } = mediansOf(pairs);
  const difference = median(pairs.map((pair) => pair.known - pair.unknown)) * 1_000;
  const figures = [`ratio ${(known / unknown).toFixed(4)}`, `p ${pOf(pairs).toPrecision(2)}`];
  return `${title}: ${figures.join(", ")}, median difference ${difference.toFixed(0)} µs, ${pairs.length} pairs`;
}

/** The milliseconds that one response takes. Each request has its own network. */
async function timed(url: string, body: object): Promise<number> {
  const forwarded = `10.${[0, 0, 0].map(() => randomInt(256)).join(".")}`;
  const headers = { "content-type": "application/json", "x-forwarded-for": forwarded };
  const sentAt = performance.now();
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body), headers });
  await response.text();
  const took = performance.now() - sentAt;
  if (response.status === 429 || response.status >= 500) throw new Error(`${url} responded ${response.status}`);
  return took;
}
