import { createPublicKey } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { loadConfig } from "../lib/config";
import { newCertificate, newSigningKey } from "./apns/credentials";
import { type Push, startStandIn } from "./apns/stand-in";

const KEY_ID = "STANDIN001";
const TEAM_ID = "HOMEPORT00";
const PORT = 8443;
const PORT_MOST = 65_535;

/**
 * Stands in for Apple's push service on this machine: `npm run apns [-- PORT]`. Prints what to set for the service,
 * then each push; keeps each in DATA_DIR/outbox as well, as the service does where it has no APNs.
 */
if (existsSync(".env")) process.loadEnvFile(".env");
const wanted = Number(process.argv[2] ?? PORT);
if (!Number.isInteger(wanted) || wanted < 0 || wanted > PORT_MOST) give(`${process.argv[2]} is no port`);
const { DATA_DIR, APNS_BUNDLE_IDS: bundleIds } = loadConfig({
  DATA_DIR: process.env.DATA_DIR,
  APNS_BUNDLE_IDS: process.env.APNS_BUNDLE_IDS,
});
const folder = path.join(DATA_DIR, "apns");
const outbox = path.join(DATA_DIR, "outbox");
for (const each of [folder, outbox]) mkdirSync(each, { recursive: true, mode: 0o700 });

function give(reason: string): never {
  console.error(reason);
  process.exit(1);
}

/** A file's text; where it is not there yet, one that is made and kept for the next time. */
function kept(name: string, make: () => string): string {
  const file = path.join(folder, name);
  if (!existsSync(file)) writeFileSync(file, make(), { mode: 0o600 });
  return readFileSync(file, "utf8");
}

function show({ id, token, payload, headers }: Push): void {
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

const tls = JSON.parse(kept("tls.json", () => JSON.stringify(newCertificate()))) as { key: string; cert: string };
const key = kept("key.p8", () => newSigningKey().privateKey);
kept("ca.pem", () => tls.cert);
const { port } = await startStandIn({
  publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString(),
  keyId: KEY_ID,
  teamId: TEAM_ID,
  bundleIds,
  tls,
  port: wanted,
  reply: (push) => {
    show(push);
    return { status: 200 };
  },
  onRefused: (reason) => console.log(`\nrefused: ${reason}`),
}).catch((error: NodeJS.ErrnoException) =>
  give(error.code === "EADDRINUSE" ? `Port ${wanted} is taken: npm run apns -- PORT` : error.message),
);
console.log(`A stand-in for Apple's push service listens on https://127.0.0.1:${port}. Start the service with

  export APNS_HOST=127.0.0.1 APNS_PORT=${port} APNS_CA=${path.resolve(folder, "ca.pem")}
  export APNS_KEY=${path.resolve(folder, "key.p8")} APNS_KEY_ID=${KEY_ID} APNS_TEAM_ID=${TEAM_ID}
  npm start
`);
