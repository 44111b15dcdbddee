import { randomUUID } from "node:crypto";
import { registerAccounts } from "../../fixtures/accounts";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { isSmoke } from "../../lib/scale";
import { median, type Row, type Section } from "../../lib/table";

const ACCOUNTS = isSmoke ? 4 : 48;
/** For each endpoint, known and unknown emails in turn: no account gets more than three requests. */
const SAMPLES = isSmoke ? 2 : 120;
const PASSWORD = "correct horse battery staple";
const JSON_BODY = { "content-type": "application/json" };

type Endpoint = { title: string; path: string; body: (email: string) => object };

const ENDPOINTS: Endpoint[] = [
  { title: "login, wrong password", path: "/api/auth/login", body: (email) => ({ email, password: "a wrong one" }) },
  { title: "reset/request", path: "/api/auth/reset/request", body: (email) => ({ email }) },
  { title: "register", path: "/api/auth/register", body: (email) => ({ email, password: PASSWORD }) },
];

/**
 * Whether response times reveal that an email has an account: medians for known and unknown emails, one request at a
 * time, with rate limits. Half of the accounts have a password hash of a lower cost.
 */
export async function accountEnumeration(bench: Bench): Promise<Section> {
  const env = { RATE_LIMITS: "on", TRUSTED_PROXY_HOPS: "1" };
  const before = await homeport(bench, async () => Promise.reject(), env).start();
  const outdated = await registerAccounts(before.url, ACCOUNTS / 2);
  await before.stop();
  const { start } = homeport(bench, async () => Promise.reject(), { ...env, BCRYPT_COST: "11" });
  const server = await start();
  const known = [...outdated, ...(await registerAccounts(server.url, ACCOUNTS / 2))].map(({ email }) => email);
  const rows: Row[] = [];
  for (const endpoint of ENDPOINTS) rows.push(...(await measure(server.url, endpoint, known)));
  await server.stop();
  return { title: "account enumeration: known and unknown emails", rows };
}

async function measure(url: string, { title, path, body }: Endpoint, known: string[]): Promise<Row[]> {
  const tookMs: Record<"known" | "unknown", number[]> = { known: [], unknown: [] };
  for (let i = 0; i < SAMPLES * 2; i++) {
    const kind = i % 2 === 0 ? "known" : "unknown";
    const email = kind === "known" ? known[(i / 2) % known.length] : `${randomUUID()}@example.com`;
    tookMs[kind].push(await timed(url + path, body(email ?? ""), i));
  }
  const reference = median(tookMs.unknown);
  return (["unknown", "known"] as const).map((kind) => ({
    ...{ throughput: null, p99Ms: null, cpuMsPerRequest: null, memoryMiB: null, goal: null },
    candidate: `${title}, ${kind}`,
    p50Ms: median(tookMs[kind]),
    ratio: median(tookMs[kind]) / reference,
  }));
}

/** The milliseconds that one response takes. Each request has its own IP address. */
async function timed(url: string, body: object, i: number): Promise<number> {
  const forwarded = `10.${50 + (i & 127)}.${(i >> 7) & 255}.${randomByte()}`;
  const headers = { ...JSON_BODY, "x-forwarded-for": forwarded };
  const sentAt = performance.now();
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body), headers });
  await response.text();
  const took = performance.now() - sentAt;
  if (response.status === 429 || response.status >= 500) throw new Error(`${url} responded ${response.status}`);
  return took;
}

const randomByte = () => Math.floor(Math.random() * 256);
