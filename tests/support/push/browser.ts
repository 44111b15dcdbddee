import { createECDH, createPublicKey, randomBytes, randomUUID, verify } from "node:crypto";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { newCertificate } from "@/dev/apns/credentials";
import { listenForTest } from "@/tests/support/network/listen";
import { decrypt } from "./decrypt";

type Received = { headers: IncomingHttpHeaders; payload: Record<string, unknown>; sizeBytes: number };

/** The certificate of every push service of a test run. */
const pushServiceTls = newCertificate();
/** The settings of a service that may send to them. */
export const PUSH_SERVICE_SETTINGS = { WEB_PUSH_ALLOWED_NETWORKS: "127.0.0.1/32", WEB_PUSH_CA: pushServiceTls.cert };

/** A browser with a push subscription, and the push service that receives its messages and decrypts them. */
export async function startBrowser() {
  const curve = createECDH("prime256v1");
  curve.generateKeys();
  const auth = randomBytes(16);
  const received: Received[] = [];
  const browser = { respond: (response: ServerResponse): unknown => response.writeHead(201).end() };
  const server = createServer(pushServiceTls, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const payload = JSON.parse(decrypt(body, curve, auth));
    received.push({ headers: request.headers, payload, sizeBytes: body.length });
    browser.respond(response);
  });
  const origin = `https://${await listenForTest(server)}`;
  const subscription = {
    endpoint: `${origin}/push/${randomUUID()}`,
    expirationTime: null,
    keys: { p256dh: curve.getPublicKey("base64url"), auth: auth.toString("base64url") },
  };
  return Object.assign(browser, { origin, subscription, received });
}

/** Verifies a VAPID header (RFC 8292, section 2) with a public key. Returns its claims. @throws Error if it is wrong */
export function verifyVapid(authorization: string, publicKey: string): Record<string, unknown> {
  const [, token = "", key] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? [];
  if (key !== publicKey) throw new Error("the request was signed with another key");
  const [head = "", claims = "", signature = ""] = token.split(".");
  const point = Buffer.from(publicKey, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const jwk = createPublicKey({ key: { kty: "EC", crv: "P-256", x: x as string, y: y as string }, format: "jwk" });
  const signed = { key: jwk, dsaEncoding: "ieee-p1363" as const };
  if (!verify("sha256", Buffer.from(`${head}.${claims}`), signed, Buffer.from(signature, "base64url")))
    throw new Error("the signature is wrong");
  return JSON.parse(Buffer.from(claims, "base64url").toString());
}
