import { randomInt, randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { type ImportedPassword, toStoredHash } from "../../../lib/auth/passwords/imported-hash";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { PAIRS } from "../../lib/scale";
import { signedRankP } from "../../lib/signed-rank";
import { median, type Row, type Section } from "../../lib/table";

const PASSWORD = "correct horse battery staple";
/** Of nine endpoints that do not differ, one in 110 runs has a smaller one. */
const MIN_P = 0.001;
const MAX_IMPORTED_MEMORY_BYTES = 64 * 2 ** 20;

const imported = (password: ImportedPassword) => toStoredHash(password, MAX_IMPORTED_MEMORY_BYTES);
const bcryptHash = (cost: number) => `$2b$${cost}$${"x".repeat(53)}`;
const base64 = (bytes: number) => Buffer.alloc(bytes, "x").toString("base64");
/** A salt and a digest in the PHC string format. */
const PHC = [base64(16), base64(32)].map((text) => text.replaceAll("=", "")).join("$");

/** What accounts have as hashes, with their makers' parameters. No password matches. */
const HASHES = {
  bcrypt10: bcryptHash(10),
  bcrypt11: bcryptHash(11),
  argon2: imported({ format: "argon2", hash: `$argon2id$v=19$m=19456,t=2,p=1$${PHC}` }),
  pbkdf2: imported({ format: "pbkdf2", hash: `$pbkdf2-sha256$i=100000$${PHC}` }),
  betterAuth: imported({ format: "better-auth", hash: `${"0f".repeat(16)}:${"0f".repeat(64)}` }),
  firebase: imported({
    format: "firebase-scrypt",
    hash: base64(64),
    salt: base64(10),
    saltSeparator: "Bw==",
    signerKey: base64(64),
    memoryCost: 14,
    rounds: 8,
  }),
};
const IMPORTED = [HASHES.argon2, HASHES.pbkdf2, HASHES.betterAuth, HASHES.firebase];

const ENV = { RATE_LIMITS: "on", TRUSTED_PROXY_HOPS: "1", AUTH_REQUIRE_VERIFIED_EMAIL: "true" };

/** `hashes`: what the accounts have, in turn. `share`: of the pairs that the others have. */
type Endpoint = { title: string; path: string; hashes: string[]; share?: number; body: (email: string) => object };
type Pair = { known: number; unknown: number };

const wrongPassword = (hashes: string[], title: string, share?: number): Endpoint => ({
  title: `login, wrong password, ${title}`,
  path: "/api/auth/login",
  hashes,
  body: (email) => ({ email, password: "a wrong one" }),
  ...(share && { share }),
});

const OWN = { hashes: [HASHES.bcrypt10] };
const ENDPOINTS: Endpoint[] = [
  wrongPassword([HASHES.bcrypt10, HASHES.bcrypt11], "bcrypt at costs 10 and 11"),
  wrongPassword([HASHES.bcrypt10, HASHES.bcrypt11, ...IMPORTED], "all formats"),
  wrongPassword([HASHES.argon2], "argon2id", 0.25),
  wrongPassword([HASHES.pbkdf2], "PBKDF2", 0.25),
  wrongPassword([HASHES.betterAuth], "Better Auth's scrypt", 0.25),
  wrongPassword([HASHES.firebase], "Firebase's scrypt", 0.25),
  { ...OWN, title: "reset/request", path: "/api/auth/reset/request", body: (email) => ({ email }) },
  { ...OWN, title: "verification/resend", path: "/api/auth/verification/resend", body: (email) => ({ email }) },
  { ...OWN, title: "register", path: "/api/auth/register", body: (email) => ({ email, password: PASSWORD }) },
];

/**
 * Whether response times reveal that an email has an account: pairs of a known and an unknown email in random order, one
 * request at a time, with rate limits, where emails have to be verified. `ratio` is of the medians, and the p value that
 * of Wilcoxon's signed-rank test. With several formats of hashes, the two emails of a pair mostly have different ones, so
 * only the distributions are equal; with one format, a difference of a thousandth shows. Run it on an idle machine, for 20
 * minutes: `npm run bench -- account-enumeration`, with `--pairs 50` for a look.
 */
export async function accountEnumeration(bench: Bench): Promise<Section> {
  const mailServer = await startMailServer();
  const rows: Row[] = [];
  const notes: string[] = [];
  for (const endpoint of ENDPOINTS) {
    const known = await addVerifiedAccounts(bench, endpoint);
    const env = {
      ...ENV,
      SMTP_URL: mailServer.url,
      BCRYPT_COST: endpoint.hashes.includes(HASHES.bcrypt11) ? "11" : "10",
    };
    const server = await homeport(bench, async () => Promise.reject(), env).start();
    const pairs = await measure(server.url, endpoint, known);
    await server.stop();
    rows.push(...rowsOf(endpoint, pairs));
    notes.push(noteOf(endpoint, pairs));
  }
  mailServer.close();
  return { title: "account enumeration: known and unknown emails", rows, notes };
}

/** Replaces the accounts by one for each pair: every email, known or not, is used once. Returns their emails. */
async function addVerifiedAccounts({ database }: Bench, { hashes, share = 1 }: Endpoint): Promise<string[]> {
  await database.query('TRUNCATE "Account" CASCADE');
  const { rows } = await database.query<{ email: string }>(
    `INSERT INTO "Account" ("id", "email", "emailVerifiedAt", "passwordHash", "updatedAt")
     SELECT gen_random_uuid(), gen_random_uuid() || '@example.com', now(), ($2::text[])[1 + i % cardinality($2::text[])], now()
     FROM generate_series(1, $1::int) AS i RETURNING "email"`,
    [Math.ceil(PAIRS * share), hashes],
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
