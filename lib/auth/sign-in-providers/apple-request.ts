import { sign } from "node:crypto";
import type { Context } from "../../context";

const TIMEOUT_MS = 10_000;

/** Sends a request to Apple as a client: a Services ID, or an app's bundle id. @throws Error unless it succeeds */
export async function postToApple(
  { config, now }: Pick<Context, "config" | "now">,
  url: string,
  clientId: string,
  parameters: Record<string, string>,
): Promise<Response> {
  const { AUTH_APPLE_SECRET } = config;
  if (!AUTH_APPLE_SECRET) throw new Error("AUTH_APPLE_SECRET is not set");
  const secret = appleClientSecret({ ...config, AUTH_APPLE_ID: clientId, AUTH_APPLE_SECRET }, now());
  const response = await fetch(url, {
    method: "POST",
    body: new URLSearchParams({ client_id: clientId, client_secret: secret, ...parameters }),
    redirect: "error", // a redirect would send the secret to another host
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.ok) return response;
  await response.body?.cancel();
  throw new Error(`Apple responded with status ${response.status}`);
}

type AppleConfig = Pick<Context["config"], "AUTH_APPLE_TEAM_ID" | "AUTH_APPLE_KEY_ID" | "AUTH_APPLE_ISSUER"> & {
  AUTH_APPLE_ID: string;
  AUTH_APPLE_SECRET: string;
};

const TTL_SECONDS = 10 * 60;

/**
 * Apple's client secret: a JWT that the team's key signs with ES256 (Apple, "Creating a client secret"). Created for
 * each sign-in, so that it never expires in use. A configured JWT is returned unchanged.
 */
export function appleClientSecret(config: AppleConfig, now: Date): string {
  const { AUTH_APPLE_SECRET: key, AUTH_APPLE_TEAM_ID, AUTH_APPLE_KEY_ID, AUTH_APPLE_ID, AUTH_APPLE_ISSUER } = config;
  if (!key.startsWith("-----BEGIN")) return key;
  const iat = Math.floor(now.getTime() / 1000);
  const header = { alg: "ES256", kid: AUTH_APPLE_KEY_ID };
  const claims = { iss: AUTH_APPLE_TEAM_ID, iat, exp: iat + TTL_SECONDS, aud: AUTH_APPLE_ISSUER, sub: AUTH_APPLE_ID };
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}
