// node:http2 without a library: POST /?count=N sends N notifications to APNs with constant concurrency.
import { randomBytes, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:http2";

const { APNS_CA, APNS_HOST, APNS_KEY, APNS_KEY_ID, APNS_PORT, APNS_TEAM_ID, BUNDLE_ID, PAYLOAD, PORT } = process.env;
const CONCURRENCY = 100;

const session = connect(`https://${APNS_HOST}:${APNS_PORT}`, { ca: readFileSync(APNS_CA) });
const authorization = `bearer ${providerToken()}`;
const tokens = Array.from({ length: 1000 }, () => randomBytes(32).toString("hex"));
const expiration = Math.floor(Date.now() / 1000) + 7 * 24 * 60 * 60;
let sent = 0;

createServer(async (request, response) => {
  if (request.url === "/ready") return response.end();
  const remaining = { count: Number(new URL(request.url, "http://localhost").searchParams.get("count")) };
  await Promise.all(Array.from({ length: CONCURRENCY }, () => sendRemaining(remaining)));
  response.end();
}).listen(Number(PORT), "127.0.0.1");

async function sendRemaining(remaining) {
  while (remaining.count-- > 0) await send(tokens[sent++ % tokens.length]);
}

async function send(token) {
  const id = randomUUID();
  const request = session.request({
    ":method": "POST",
    ":path": `/3/device/${token}`,
    "apns-id": id,
    "apns-topic": BUNDLE_ID,
    "apns-push-type": "alert",
    "apns-priority": 5,
    "apns-expiration": expiration,
    "apns-collapse-id": "version",
    authorization,
  });
  const responded = once(request, "response");
  request.end(PAYLOAD);
  const [{ ":status": status }] = await responded;
  request.resume();
  if (status !== 200) throw new Error(`APNs responded ${status}`);
}

function providerToken() {
  const encode = (part) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const claims = { iss: APNS_TEAM_ID, iat: Math.floor(Date.now() / 1000) };
  const signed = `${encode({ alg: "ES256", kid: APNS_KEY_ID })}.${encode(claims)}`;
  const key = { key: readFileSync(APNS_KEY), dsaEncoding: "ieee-p1363" };
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}
