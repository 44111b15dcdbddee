import { createPublicKey } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { loadConfig } from "../lib/platform/config";
import { runCommandLine, UsageError } from "../scripts/command-line";
import { newCertificate, newSigningKey } from "./apns/credentials";
import { type Push, startFakeApns } from "./apns/fake-server";
import { createReplyScript, REPLY_HELP } from "./apns/reply-script";

const KEY_ID = "FAKEAPNS01";
const TEAM_ID = "HOMEPORT00";
const PORT = 8443;
const MAX_PORT = 65_535;

const HELP = `Usage: npm run apns [-- PORT]

Runs a fake APNs server on this machine, on port ${PORT} by default. Prints the variables that connect the service to it,
then each push. Writes each push to DATA_DIR/outbox, too, as the service does when APNs is not configured.

${REPLY_HELP}`;

/** Returns the text of a file. Creates the file if it does not exist. */
function readOrCreate(folder: string, name: string, create: () => string): string {
  const file = path.join(folder, name);
  if (!existsSync(file)) writeFileSync(file, create(), { mode: 0o600 });
  return readFileSync(file, "utf8");
}

function printPush(outbox: string, { id, token, payload, headers }: Push): void {
  const values = ["topic", "push-type", "priority", "expiration", "collapse-id"].flatMap((name) => {
    const value = headers[`apns-${name}`];
    return value === undefined ? [] : [`${name} ${value}`];
  });
  console.log(`\n${new Date().toISOString()}  ${id}\n  to ${token}\n  ${values.join(", ")}`);
  console.log(`  ${JSON.stringify(payload)}`);
  const file = path.join(outbox, `${Date.now()}-${id}.push.json`);
  writeFileSync(file, `${JSON.stringify({ id, token, bundleId: headers["apns-topic"], payload }, null, 2)}\n`, {
    mode: 0o600,
  });
}

async function main([given, ...rest]: string[]): Promise<void> {
  const requestedPort = Number(given ?? PORT);
  const isPort = Number.isInteger(requestedPort) && requestedPort >= 0 && requestedPort <= MAX_PORT;
  if (!isPort || rest.length > 0) throw new UsageError(`Invalid port: ${[given, ...rest].join(" ")}`);
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
  const replies = createReplyScript();
  const { port } = await startFakeApns({
    publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString(),
    keyId: KEY_ID,
    teamId: TEAM_ID,
    bundleIds,
    tls,
    port: requestedPort,
    reply: (push) => {
      printPush(outbox, push);
      const reply = replies.next();
      if (typeof reply === "string" || reply.status !== 200) console.log(`  replied: ${JSON.stringify(reply)}`);
      return reply;
    },
    onRejected: (reason) => console.log(`\nrejected: ${reason}`),
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new Error(`Port ${requestedPort} is in use. Choose another one: npm run apns -- PORT`);
  });
  console.log(`A fake APNs server is listening on https://127.0.0.1:${port}. Start the service with

    export APNS_HOST=127.0.0.1 APNS_PORT=${port} APNS_CA=${path.resolve(folder, "ca.pem")}
    export APNS_KEY=${path.resolve(folder, "key.p8")} APNS_KEY_ID=${KEY_ID} APNS_TEAM_ID=${TEAM_ID}
    npm start

${REPLY_HELP}
`);
  createInterface({ input: process.stdin }).on("line", (line) => console.log(replies.add(line)));
}

await runCommandLine(HELP, main);
