import { randomUUID } from "node:crypto";
import { afterAll } from "vitest";
import type { Options } from "@/tests/support/api";
import { setUpContext } from "@/tests/support/context";
import { postOAuth } from "./oauth-client";
import { TokenIssuer } from "./token-issuer";

/** The app's bundle id at Apple and its client id at Google. */
export const APP_ID = "com.example.acme";

/** Starts a fake of Apple and of Google for a test file, and configures both for a native app. */
export async function setUpIssuers() {
  const [apple, google] = await Promise.all([TokenIssuer.start("apple"), TokenIssuer.start("google")]);
  afterAll(() => {
    apple.close();
    google.close();
  });
  setUpContext({
    config: {
      AUTH_APPLE_ISSUER: apple.origin,
      AUTH_APPLE_NATIVE_IDS: [APP_ID],
      AUTH_GOOGLE_ISSUER: google.origin,
      AUTH_GOOGLE_NATIVE_IDS: [APP_ID],
    },
  });
  return { apple, google };
}

/** What an app sends to exchange an ID token. */
export function tokenExchange(idToken: string, nonce: string, change: Record<string, string> = {}) {
  return {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    client_id: "desktop",
    subject_token: idToken,
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    nonce,
    ...change,
  };
}

/** Exchanges an ID token. */
export function exchange(
  idToken: string,
  nonce: string,
  change: Record<string, string> = {},
  options: Options = {},
): Promise<Response> {
  return postOAuth("token", tokenExchange(idToken, nonce, change), options);
}

export const newNonce = () => randomUUID();
