import { createHash, createPublicKey, verify } from "node:crypto";
import { get } from "@/tests/support/api";
import { STABLE } from "@/tests/support/releases/updates";

/** What tauri.conf.json says to the updater plugin 2.12, and what is installed. */
export type TauriApp = {
  /** The line of the .pub file. */
  minisignKey: string;
  version: string;
  requiresSignedVersion?: boolean;
  clientId?: string;
};

/** Checks for an update as the plugin does (updater.rs, `verify_signature` and `verify_signed_version`). Returns what it would install, or why nothing. */
export async function checkForTauriUpdate(app: TauriApp): Promise<string> {
  const { minisignKey, version, requiresSignedVersion = true, clientId } = app;
  const headers = { ...(clientId !== undefined && { "x-user-staging-id": clientId }) };
  const response = await get(`${STABLE}/windows/x86_64/${version}`, { headers });
  if (response.status !== 200) return response.status === 204 ? "up to date" : `no feed: ${response.status}`;
  const update = (await response.json()) as { version: string; url: string; signature: string };
  const { pathname } = new URL(update.url);
  const bytes = new Uint8Array(await (await get(pathname)).arrayBuffer());
  const [, line = "", comment = "", global = ""] = Buffer.from(update.signature, "base64").toString().split("\n");
  const trusted = comment.replace(/^trusted comment: /, "");
  const signature = Buffer.from(line, "base64").subarray(10);
  const key = Buffer.from(minisignKey, "base64");
  const jwk = { kty: "OKP", crv: "Ed25519", x: key.subarray(10).toString("base64url") };
  const isSigned = (signed: Uint8Array, by: Buffer) =>
    verify(null, signed, createPublicKey({ format: "jwk", key: jwk }), by);
  const isValid =
    isSigned(createHash("blake2b512").update(bytes).digest(), signature) &&
    isSigned(Buffer.concat([signature, Buffer.from(trusted)]), Buffer.from(global, "base64"));
  if (!isValid) return "signature refused";
  const field = trusted.split("\t").find((one) => one.startsWith("version:"));
  if (field === undefined) return requiresSignedVersion ? "MissingSignedVersion" : update.version;
  return field === `version:${update.version}` ? update.version : "SignedVersionMismatch";
}
