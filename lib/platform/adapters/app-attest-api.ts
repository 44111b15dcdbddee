import { sign } from "node:crypto";
import type { Config } from "../config";
import { readText } from "../outbound";

/** Apple's answer to a receipt: a newer one, too early for one, or that it does not know the receipt or cannot read it. */
type Answer = { receipt: Buffer } | "too_early" | "unknown" | "invalid";

/** Sends the receipt of an attested key. @throws Error if Apple did not respond, refused the key, or asks to wait */
export type AppAttestApi = (receipt: Uint8Array, environment: "production" | "sandbox") => Promise<Answer>;

const URLS = {
  production: "https://data.appattest.apple.com",
  sandbox: "https://data-development.appattest.apple.com",
} as const;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 64 * 1024;
const ANSWERS = new Map([
  [304, "too_early"],
  [400, "invalid"],
  [404, "unknown"],
] as const);

/** Opens App Attest's data service with `APP_ATTEST_API_KEY` (Apple, "Assessing fraud risk"); null without a key. */
export function createAppAttestApi(config: Config): AppAttestApi | null {
  const { APP_ATTEST_API_KEY: key, APP_ATTEST_API_KEY_ID: kid, APP_ATTEST_API_URL: url, APNS_TEAM_ID: iss } = config;
  if (key === undefined) return null;
  return async (receipt, environment) => {
    const response = await fetch(`${(url ?? URLS[environment]).replace(/\/$/, "")}/v1/attestationData`, {
      method: "POST",
      headers: { authorization: tokenOf(key, { kid, iss }), "content-type": "text/plain" },
      body: Buffer.from(receipt).toString("base64"),
      redirect: "error", // a redirect would send the token to another host
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.status === 200) return { receipt: Buffer.from(await readText(response, MAX_BYTES), "base64") };
    await response.body?.cancel();
    const answer = ANSWERS.get(response.status as 304);
    if (answer === undefined) throw new Error(`App Attest's data service returned status ${response.status}`);
    return answer;
  };
}

function tokenOf(key: string, { kid, iss }: { kid: string | undefined; iss: string | undefined }): string {
  const parts = [
    { alg: "ES256", kid },
    { iss, iat: Math.floor(Date.now() / 1000) },
  ];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}
