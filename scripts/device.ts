import { generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { loadConfig } from "../lib/config";
import { buildClientData } from "../lib/push/evidence/client-data";
import { publicPointOf } from "../lib/push/evidence/p256";
import { baseUrlFrom, runCommandLine } from "./command-line";

const HELP = `Usage: npm run device [-- BASE_URL]

Acts as an iPhone simulator against a running service (NEXTAUTH_URL unless BASE_URL is given): creates an account, registers
for push, takes the nonce from DATA_DIR/outbox or from a line that you paste, and proves itself with a key of its own.`;

const WAIT_MS = 5 * 60 * 1000;
const POLL_MS = 200;

let base = "";
let outbox = "";

// biome-ignore lint/suspicious/noExplicitAny: it is printed, and the few members read are the documented ones.
type Json = any;

/** Sends JSON, prints what was answered. @throws Error for anything but the statuses expected */
async function ask(expected: number[], method: string, to: string, token?: string, json?: unknown): Promise<Json> {
  const response = await fetch(`${base}${to}`, {
    method,
    headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: json === undefined ? undefined : JSON.stringify(json),
  }).catch((error: Error) => {
    throw new Error(`${base} does not answer (${error.cause ?? error}). Is it running? npm start`);
  });
  const text = await response.text();
  console.log(`  ${method} ${to} -> ${response.status}`);
  if (!expected.includes(response.status)) throw new Error(`${response.status}: ${text}`);
  return JSON.parse(text);
}

/** The nonce of a challenge, as soon as it is in a notification's file, or in a line that is typed in. */
async function nonceOf(challengeId: string): Promise<string> {
  console.log(`  waiting for the nonce: in ${outbox}, or paste it here from what \`npm run apns\` printed`);
  const stop = new AbortController();
  try {
    return await Promise.race([nonceTyped(stop.signal), nonceInFile(outbox, challengeId, stop.signal)]);
  } finally {
    stop.abort();
  }
}

function nonceTyped(signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, signal });
  return new Promise((resolve) => {
    lines.on("line", (line) => {
      const [nonce] = /(?<![\w-])[\w-]{43}(?![\w-])/.exec(line) ?? [];
      if (nonce) resolve(nonce);
    });
  });
}

async function nonceInFile(folder: string, challengeId: string, signal: AbortSignal): Promise<string> {
  const seen = new Set<string>();
  for (const until = performance.now() + WAIT_MS; performance.now() < until && !signal.aborted; await delay(POLL_MS)) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((file) => file.endsWith(".push.json") && !seen.has(file))) {
      const data = await dataIn(path.join(folder, name));
      if (data?.challengeId === challengeId) return data.nonce;
      if (data) seen.add(name);
    }
  }
  throw new Error("no nonce came");
}

/** What a notification's file holds for the app; null while it is being written. */
async function dataIn(file: string): Promise<Json> {
  try {
    return JSON.parse(await readFile(file, "utf8")).payload.data;
  } catch {
    return null;
  }
}

/** Evidence of type device_key; docs/guides/push.md has the lines that are signed. */
function evidenceFor(registration: Json, pushNonce: string, accountId: string, key: KeyPair, token: string) {
  const { challenge, device } = registration;
  const { environment, bundleId } = device;
  const clientData = buildClientData({
    ...{ challengeId: challenge.id, challengeValue: challenge.value, pushNonce },
    ...{ environment, bundleId, token, accountId },
  });
  return {
    ...{ type: "device_key", challengeId: challenge.id, pushNonce },
    publicKey: publicPointOf(key.publicKey)?.toString("base64"),
    signature: sign("sha256", clientData, key.privateKey).toString("base64"),
  };
}

type KeyPair = { publicKey: KeyObject; privateKey: KeyObject };

async function main(args: string[]): Promise<void> {
  const config = loadConfig();
  base = baseUrlFrom(args, config.baseUrl);
  outbox = path.join(config.DATA_DIR, "outbox");
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const email = `device-${randomUUID()}@example.com`;
  const password = randomBytes(12).toString("base64url");
  console.log(`A simulator at ${base}, with an account of its own`);
  const { user, token: session } = await ask([201], "POST", "/api/auth/register", undefined, { email, password });

  console.log("\n1. It registers its token, and is asked to prove itself");
  const device = { name: "Simulator", model: "iPhone18,1", osVersion: "26.1", appVersion: "1.0.0", locale: "en-GB" };
  const token = randomBytes(32).toString("hex");
  const wanted = { token, installationId: randomUUID(), environment: "sandbox", device };
  const registration = await ask([202], "POST", "/api/push/register", session, wanted);
  console.log(`  the device is ${registration.device.status}`);

  console.log("\n2. The nonce comes by a background push");
  const nonce = await nonceOf(registration.challenge.id);

  console.log("\n3. It signs both halves of the challenge, and registers again with the evidence");
  const evidence = evidenceFor(registration, nonce, user.id, key, token);
  const proved = await ask([200], "POST", "/api/push/register", session, { ...wanted, evidence });
  console.log(`  the device is ${proved.device.status}`);

  console.log("\n4. From now on it registers at each start, and stays active");
  await ask([200], "POST", "/api/push/register", session, wanted);
  const { devices } = await ask([200], "GET", "/api/push/devices", session);
  console.log(JSON.stringify(devices, null, 2));
  console.log(`\nIt stays registered, for account ${user.id}. Its token is ${token}`);
}

runCommandLine(HELP, main).finally(() => process.exit()); // standard input may still be open
