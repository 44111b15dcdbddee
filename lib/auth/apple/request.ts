import type { Context } from "../../context";
import { appleClientSecret } from "../sign-in-providers/apple-client-secret";

export type AppleDeps = Pick<Context, "config" | "now">;

const TIMEOUT_MS = 10_000;

/**
 * Sends a request to one of Apple's endpoints, authenticated as a client: a Services ID, or an app's bundle id.
 * @throws Error if Apple does not respond with success
 */
export async function postToApple(
  { config, now }: AppleDeps,
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
