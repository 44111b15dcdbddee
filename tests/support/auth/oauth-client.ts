import * as client from "openid-client";
import { call, get, type Options } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import { cookiesOf, submit } from "@/tests/support/web/forms";

export const REDIRECT_URI = "http://127.0.0.1:51004/callback";

/** An app that uses openid-client, which sends its requests to the service under test. */
export function openApp(clientId: string): Promise<client.Configuration> {
  return client.discovery(new URL(BASE_URL), clientId, undefined, client.None(), {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests],
    [client.customFetch]: (url, { method, headers, body }) => {
      const { pathname, search } = new URL(url);
      return call(method, pathname + search, { headers, body: body?.toString() });
    },
  });
}

/** The session cookie of a browser in which an account signs in. */
export async function signInToBrowser({ email, password }: { email: string; password: string }): Promise<string> {
  return cookiesOf(await submit("sign-in", { email, password }));
}

type Decision = { cookie: string; decision?: "allow" | "deny"; headers?: Record<string, string> };

/** Follows an authorization URL to its page, and decides there. Returns where the browser is sent. */
export async function decide(authorizationUrl: URL, { cookie, decision = "allow" }: Decision): Promise<URL> {
  const { pathname, search } = authorizationUrl;
  const response = await get(pathname + search, { cookie });
  if (response.status !== 303) throw new Error(`authorize returned ${response.status}: ${await response.text()}`);
  const page = new URL(response.headers.get("location") ?? "", BASE_URL);
  if (page.pathname !== "/authorize") return page;
  return locationOf(await submit("authorize", { ...Object.fromEntries(page.searchParams), decision }, { cookie }));
}

/** Where a form's response sends the browser. */
export function locationOf(response: Response): URL {
  const [, refreshTo] = /^0;url=(.*)$/.exec(response.headers.get("refresh") ?? "") ?? [];
  return new URL(refreshTo ?? response.headers.get("location") ?? "", BASE_URL);
}

/** Posts a URL-encoded request to an endpoint below /api/auth/oauth. */
export function postOAuth(endpoint: string, fields: Record<string, string>, options: Options = {}): Promise<Response> {
  return call("POST", `/api/auth/oauth/${endpoint}`, {
    ...options,
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
}

/** The `error` of a response of OAuth's endpoints. */
export async function errorOf(response: Response): Promise<[number, string]> {
  const { error } = (await response.json()) as { error: string };
  return [response.status, error];
}
