import { strict as assert } from "node:assert";
import { execFile } from "node:child_process";
import { pbkdf2Sync, randomBytes, randomUUID, scryptSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { type createRequest, jsonBody } from "./request";

const run = promisify(execFile);
const HOMEPORT = path.resolve("scripts/bin/homeport.mjs");
const DAY_MS = 24 * 60 * 60 * 1000;
const VERSIONS = ["1.0.0", "1.1.0", "1.1.1", "1.2.0"];

type Customer = { email: string; password: string; externalId: string };
/** A password's hash in the form of another system. */
type Hash = (password: string) => { format: string; hash: string };

const HASHES: Hash[] = [
  (password) => {
    const salt = randomBytes(16).toString("hex");
    const key = scryptSync(password, salt, 64, { N: 16_384, r: 16, p: 1, maxmem: 64 * 1024 * 1024 });
    return { format: "better-auth", hash: `${salt}:${key.toString("hex")}` };
  },
  (password) => {
    const salt = randomBytes(8).toString("hex");
    const key = pbkdf2Sync(password, salt, 100_000, 32, "sha256").toString("base64");
    return { format: "django", hash: `pbkdf2_sha256$100000$${salt}$${key}` };
  },
  (password) => {
    const base64 = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
    const salt = randomBytes(16);
    return {
      format: "scrypt",
      hash: `$scrypt$ln=14,r=8,p=1$${base64(salt)}$${base64(scryptSync(password, salt, 32))}`,
    };
  },
];

/**
 * Moves a small company to the service with `homeport`, as docs/guides/moving-in.md describes: three accounts whose hashes have
 * three formats, two subscriptions and four releases. Their owners sign in with their old passwords. Removes everything.
 */
export async function moveCompany(request: ReturnType<typeof createRequest>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-tour-"));
  const homeport = async (...args: string[]) => {
    console.log(`  homeport ${args.map((arg) => (arg.startsWith(folder) ? path.basename(arg) : arg)).join(" ")}`);
    const { stdout } = await run(process.execPath, [HOMEPORT, ...args, "--json"], { cwd: folder });
    return JSON.parse(stdout);
  };
  const customers = HASHES.map((): Customer => {
    const externalId = `tour-${randomUUID()}`;
    return { email: `${externalId}@example.com`, password: randomBytes(12).toString("base64url"), externalId };
  });
  const tokens: string[] = [];
  try {
    const file = path.join(folder, "accounts.ndjson");
    const records = customers.map(({ password, ...one }, i) => ({ ...one, password: HASHES[i]?.(password) }));
    await writeFile(file, records.map((record) => JSON.stringify(record)).join("\n"));
    assert.equal((await homeport("accounts", "import", file)).created, customers.length);
    assert.equal((await homeport("accounts", "import", file)).unchanged, customers.length, "twice changes nothing");
    for (const { email, password } of customers) {
      const login = await request(200, "POST", "/api/auth/login", jsonBody({ email, password }));
      tokens.push((await login.json()).token);
    }
    await moveSubscriptions(homeport, path.join(folder, "subscriptions.csv"), customers.slice(0, 2));
    for (const [i, token] of tokens.entries()) {
      const headers = { authorization: `Bearer ${token}` };
      const { isActive } = await (await request(200, "GET", "/api/subscription/status", { headers })).json();
      assert.equal(isActive, i < 2);
    }
    await moveReleases(homeport, path.join(folder, "catalog.json"));
  } finally {
    for (const { email } of customers) await deleteAccount(homeport, email);
    await rm(folder, { recursive: true, force: true });
  }
}

type Homeport = (...args: string[]) => Promise<ReturnType<typeof JSON.parse>>;

/** Prints the email of an account that stays, and goes on with the others. */
async function deleteAccount(homeport: Homeport, email: string): Promise<void> {
  await homeport("accounts", "delete", email, "--yes").catch((error: Error) => {
    console.error(`The account ${email} was not deleted: ${error.message}`);
  });
}

async function moveSubscriptions(homeport: Homeport, file: string, customers: Customer[]): Promise<void> {
  const [from, to] = [Date.now() - DAY_MS, Date.now() + 29 * DAY_MS].map((ms) => new Date(ms).toISOString());
  const rows = customers.map(
    ({ externalId }) => `tour-${randomUUID()},APP_STORE,${externalId},com.example.pro.monthly,pro,${from},${to}`,
  );
  const heading = "transactionId,store,customer,productId,entitlementIds,purchasedAt,expiresAt";
  await writeFile(file, [heading, ...rows].join("\n"));
  const { counts } = await homeport("billing", "import", file, "--from", "csv");
  assert.deepEqual([counts.matched, counts.unmatched], [customers.length, 0]);
}

/**
 * Imports releases from an appcast, which the old server has, into a catalog of their own: they would replace the samples of the
 * service. Nothing is offered before `--publish`.
 */
async function moveReleases(homeport: Homeport, catalog: string): Promise<void> {
  const server = createServer(({ url = "" }, response) => {
    const name = path.basename(url);
    response.end(name === "appcast.xml" ? appcast() : fileOf(name));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/appcast.xml`;
  const importAll = (...options: string[]) =>
    homeport("release", "import", url, "--product", "tour", ...options, "--catalog", catalog);
  const rollouts = async () => {
    const releases = await homeport("release", "list", "--catalog", catalog);
    return releases.map(({ rollout }: { rollout?: number }) => rollout ?? 100);
  };
  try {
    assert.equal((await importAll()).imported.length, VERSIONS.length);
    assert.deepEqual(await rollouts(), [0, 0, 0, 0]);
    assert.equal((await importAll("--publish")).published.length, VERSIONS.length);
    assert.deepEqual(await rollouts(), [100, 100, 100, 100]);
  } finally {
    server.close();
  }
}

/** The bytes of an old release. */
const fileOf = (name: string) => `MZ the installer ${name}`;

function appcast(): string {
  const items = VERSIONS.map((version) => {
    const name = `tour-${version}-x64.exe`;
    const enclosure = `<enclosure url="${name}" length="${fileOf(name).length}" sparkle:os="windows" />`;
    return `<item><title>${version}</title><sparkle:version>${version}</sparkle:version>${enclosure}</item>`;
  });
  const namespace = "http://www.andymatuschak.org/xml-namespaces/sparkle";
  return `<rss version="2.0" xmlns:sparkle="${namespace}"><channel>${items.join("")}</channel></rss>`;
}
