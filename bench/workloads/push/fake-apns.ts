import { writeFileSync } from "node:fs";
import path from "node:path";
import { newCertificate, newSigningKey } from "../../../dev/apns/credentials";
import { type Server, startServer } from "../../lib/server";

export const BUNDLE_ID = "com.example.homeport";
const IDS = { APNS_KEY_ID: "ABC123DEFG", APNS_TEAM_ID: "TEAM123456" };

/** A fake APNs server in its own process, and the environment of a client of it. */
export type FakeApns = { server: Server; env: Record<string, string> };

/** `delayMs`: how long it waits before each response, as a network does. */
export async function startFakeApns(folder: string, delayMs = 0): Promise<FakeApns> {
  const { privateKey, publicKey } = newSigningKey();
  const tls = newCertificate();
  const file = (name: string) => path.join(folder, `apns-${delayMs}-${name}`);
  const files = { "key.p8": privateKey, "key.pub": publicKey, "ca.pem": tls.cert, "tls.json": JSON.stringify(tls) };
  for (const [name, text] of Object.entries(files)) writeFileSync(file(name), text);
  const env = { ...IDS, BUNDLE_ID, PUBLIC_KEY: file("key.pub"), TLS: file("tls.json"), DELAY_MS: String(delayMs) };
  const args = () => ["--import", "tsx", path.join(import.meta.dirname, "../../peers/fake-apns.ts")];
  const server = await startServer({ name: "APNs", command: process.execPath, args, env, ready: "/" }, folder);
  const { port } = await readCounts(server);
  const address = { APNS_HOST: "127.0.0.1", APNS_PORT: String(port), APNS_CA: file("ca.pem") };
  return { server, env: { ...IDS, ...address, APNS_KEY: file("key.p8") } };
}

/** The port of the fake APNs server and how many notifications it has accepted and rejected: see bench/peers/fake-apns.ts. */
export async function readCounts({ url }: Server): Promise<{ port: number; accepted: number; rejected: number }> {
  return (await fetch(url)).json() as Promise<{ port: number; accepted: number; rejected: number }>;
}
