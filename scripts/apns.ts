import { createPublicKey } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { newCertificate, newSigningKey } from "../dev/apns/credentials";
import { type Push, startFakeApns } from "../dev/apns/fake-server";
import { createReplyScript, REPLY_HELP } from "../dev/apns/reply-script";
import { loadConfig } from "../lib/config";
import { runCommandLine, UsageError } from "./command-line";

const KEY_ID = "STANDIN001";
const TEAM_ID = "HOMEPORT00";
const PORT = 8443;
const MAX_PORT = 65_535;

const HELP = `Usage: npm run apns [-- PORT]

Runs a local server in place of Apple's push service, on port ${PORT} unless another is given. Prints what to set for the
service, then each push, and writes each into DATA_DIR/outbox as well, as the service does without APNs.

${REPLY_HELP}`;

/** A file's text; where it is not there yet, one that is made and kept for the next time. */
function readOrCreate(folder: string, name: string, make: () => string): string {
  const file = path.join(folder, name);
  if (!existsSync(file)) writeFileSync(file, make(), { mode: 0o600 });
  return readFileSync(file, "utf8");
}

function show(outbox: string, { id, token, payload, headers }: Push): void {
  const about = ["topic", "push-type", "priority", "expiration", "collapse-id"].flatMap((name) => {
    const value = headers[`apns-${name}`];
    return value === undefined ? [] : [`${name} ${value}`];
  });
  console.log(`\n${new Date().toISOString()}  ${id}\n  to ${token}\n  ${about.join(", ")}`);
  console.log(`  ${JSON.stringify(payload)}`);
  const file = path.join(outbox, `${Date.now()}-${id}.push.json`);
  writeFileSync(file, `${JSON.stringify({ id, token, bundleId: headers["apns-topic"], payload }, null, 2)}\n`, {
    mode: 0o600,
  });
}

async function main([given, ...rest]: string[]): Promise<void> {
  const wanted = Number(given ?? PORT);
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > MAX_PORT || rest.length > 0) {
    throw new UsageError(`Not a port: ${[given, ...rest].join(" ")}`);
  }
  const { DATA_DIR, APNS_BUNDLE_IDS: bundleIds } = loadConfig({
    DATA_DIR: process.env.DATA_DIR,
    APNS_BUNDLE_IDS: process.env.APNS_BUNDLE_IDS,
  });
  const folder = path.join(DATA_DIR, "apns");
  const outbox = path.join(DATA_DIR, "outbox");
  for (const each of [folder, outbox]) mkdirSync(each, { recursive: true, mode: 0o700 });

  const tls = JSON.parse(readOrCreate(folder, "tls.json", () => JSON.stringify(newCertificate()))) as {
    key: string;
    cert: string;
  };
  const key = readOrCreate(folder, "key.p8", () => newSigningKey().privateKey);
  readOrCreate(folder, "ca.pem", () => tls.cert);
  const practice = createReplyScript();
  const { port } = await startFakeApns({
    publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString(),
    keyId: KEY_ID,
    teamId: TEAM_ID,
    bundleIds,
    tls,
    port: wanted,
    reply: (push) => {
      show(outbox, push);
      const reply = practice.next();
      if (typeof reply === "string" || reply.status !== 200) console.log(`  answered: ${JSON.stringify(reply)}`);
      return reply;
    },
    onRefused: (reason) => console.log(`\nrefused: ${reason}`),
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EADDRINUSE" ? new Error(`Port ${wanted} is taken: npm run apns -- PORT`) : error;
  });
  console.log(`A stand-in for Apple's push service listens on https://127.0.0.1:${port}. Start the service with

    export APNS_HOST=127.0.0.1 APNS_PORT=${port} APNS_CA=${path.resolve(folder, "ca.pem")}
    export APNS_KEY=${path.resolve(folder, "key.p8")} APNS_KEY_ID=${KEY_ID} APNS_TEAM_ID=${TEAM_ID}
    npm start

${REPLY_HELP}
`);
  createInterface({ input: process.stdin }).on("line", (line) => console.log(practice.take(line)));
}

await runCommandLine(HELP, main);
