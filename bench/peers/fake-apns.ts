// The fake APNs server in its own process. GET / returns its port and its counts.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { startFakeApns } from "../../dev/apns/fake-server";

const {
  APNS_KEY_ID = "",
  APNS_TEAM_ID = "",
  BUNDLE_ID = "",
  DELAY_MS = "0",
  PORT,
  PUBLIC_KEY = "",
  TLS = "",
} = process.env;
let accepted = 0;
let rejected = 0;

const { port } = await startFakeApns({
  publicKey: readFileSync(PUBLIC_KEY, "utf8"),
  keyId: APNS_KEY_ID,
  teamId: APNS_TEAM_ID,
  bundleIds: [BUNDLE_ID],
  tls: JSON.parse(readFileSync(TLS, "utf8")),
  reply: async () => {
    accepted += 1;
    if (DELAY_MS !== "0") await delay(Number(DELAY_MS));
    return { status: 200 };
  },
  onRejected: () => {
    rejected += 1;
  },
});
createServer((_, response) => response.end(JSON.stringify({ port, accepted, rejected }))).listen(
  Number(PORT),
  "127.0.0.1",
);
