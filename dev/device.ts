import { generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { loadConfig } from "../lib/platform/config";
import { publicPointOf } from "../lib/push/evidence/p256";
import { buildClientData } from "../lib/push/evidence/verify";
import { baseUrlFrom, runCommandLine } from "../scripts/command-line";
import { createRequest, jsonBody } from "./request";

const HELP = `Usage: npm run device [-- BASE_URL]

Acts as an iOS simulator against a running service, at NEXTAUTH_URL by default. Creates an account, registers a device for
push, reads the nonce from DATA_DIR/outbox or from a line that you paste, and registers again with evidence.`;

const TIMEOUT_MS = 5 * 60 * 1000;
const POLL_INTERVAL_MS = 200;

let outbox = "";

// biome-ignore lint/suspicious/noExplicitAny: it is printed, and only documented fields are read.
type Json = any;

/** Waits for the nonce of a challenge, in a notification's file or in a pasted line. */
async function waitForNonce(challengeId: string): Promise<string> {
  console.log(`  Waiting for the nonce in ${outbox}. You can also paste it from the output of "npm run apns".`);
  const stop = new AbortController();
  try {
    return await Promise.race([readPastedNonce(stop.signal), findNonceFile(outbox, challengeId, stop.signal)]);
  } finally {
    stop.abort();
  }
}

function readPastedNonce(signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, signal });
  return new Promise((resolve) => {
    lines.on("line", (line) => {
      const [nonce] = /(?<![\w-])[\w-]{43}(?![\w-])/.exec(line) ?? [];
      if (nonce) resolve(nonce);
    });
  });
}

async function findNonceFile(folder: string, challengeId: string, signal: AbortSignal): Promise<string> {
  const seen = new Set<string>();
  for (
    const until = performance.now() + TIMEOUT_MS;
    performance.now() < until && !signal.aborted;
    await delay(POLL_INTERVAL_MS)
  ) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.filter((file) => file.endsWith(".push.json") && !seen.has(file))) {
      const data = await readData(path.join(folder, name));
      if (data?.challengeId === challengeId) return data.nonce;
      if (data) seen.add(name);
    }
  }
  throw new Error("The nonce did not arrive within five minutes.");
}

/** Reads the `data` of a notification's file; null while the file is being written. */
async function readData(file: string): Promise<Json> {
  try {
    return JSON.parse(await readFile(file, "utf8")).payload.data;
  } catch {
    return null;
  }
}

/** Creates evidence of the type device_key (docs/guides/push-ios.md). */
function createEvidence(registration: Json, pushNonce: string, accountId: string, key: KeyPair, token: string) {
  const { challenge, device } = registration;
  const { environment, bundleId } = device;
  const clientData = buildClientData({
    challengeId: challenge.id,
    challengeValue: challenge.value,
    pushNonce,
    environment,
    bundleId,
    token,
    accountId,
  });
  return {
    type: "device_key",
    challengeId: challenge.id,
    pushNonce,
    publicKey: publicPointOf(key.publicKey)?.toString("base64"),
    signature: sign("sha256", clientData, key.privateKey).toString("base64"),
  };
}

type KeyPair = { publicKey: KeyObject; privateKey: KeyObject };

async function main(args: string[]): Promise<void> {
  const config = loadConfig();
  const base = baseUrlFrom(args, config.baseUrl);
  const request = createRequest(base);
  outbox = path.join(config.DATA_DIR, "outbox");
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const email = `device-${randomUUID()}@example.com`;
  const password = randomBytes(12).toString("base64url");
  console.log(`Creating an account at ${base}`);
  const registered = await request(201, "POST", "/api/auth/register", jsonBody({ email, password }));
  const { user, token: session }: Json = await registered.json();
  const headers = { authorization: `Bearer ${session}` };
  const register = async (expected: number, json: object): Promise<Json> =>
    (await request(expected, "POST", "/api/push/register", jsonBody(json, headers))).json();

  console.log("\n1. Register the token, which returns a challenge");
  const device = { name: "Simulator", model: "iPhone18,1", osVersion: "26.1", appVersion: "1.0.0", locale: "en-GB" };
  const token = randomBytes(32).toString("hex");
  const body = { token, installationId: randomUUID(), environment: "sandbox", device };
  const registration = await register(202, body);
  console.log(`  The device is ${registration.device.status}.`);

  console.log("\n2. Receive the nonce by a background push");
  const nonce = await waitForNonce(registration.challenge.id);

  console.log("\n3. Sign the challenge and the nonce, and register again with this evidence");
  const evidence = createEvidence(registration, nonce, user.id, key, token);
  const verified = await register(200, { ...body, evidence });
  console.log(`  The device is ${verified.device.status}.`);

  console.log("\n4. Register again, as an app does at each launch: the device stays active");
  await register(200, body);
  const { devices }: Json = await (await request(200, "GET", "/api/push/devices", { headers })).json();
  console.log(JSON.stringify(devices, null, 2));
  console.log(`\nThe device stays registered for account ${user.id}. Its token is ${token}.`);
}

runCommandLine(HELP, main).finally(() => process.exit()); // standard input may still be open
