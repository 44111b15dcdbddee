import { call, get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import type { IdentityProvider } from "./identity-provider";

export const SESSION_COOKIE = "next-auth.session-token";

export class Jar {
  private readonly cookies = new Map<string, string>();

  take(response: Response): void {
    for (const header of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
      if (value === "" || /expires=Thu, 01 Jan 1970/i.test(header)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }

  get header(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  get(name: string): string | undefined {
    return this.cookies.get(name);
  }

  set(name: string, value: string): void {
    this.cookies.set(name, value);
  }

  delete(name: string): void {
    this.cookies.delete(name);
  }

  has(name: string): boolean {
    return this.cookies.has(name);
  }
}

export async function csrfToken(jar: Jar): Promise<string> {
  const response = await get("/api/auth/csrf", { cookie: jar.header });
  jar.take(response);
  return ((await response.json()) as { csrfToken: string }).csrfToken;
}

/** Posts a form the way next-auth/react does. */
export async function postForm(
  jar: Jar,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  const response = await call("POST", path, {
    cookie: jar.header,
    body: new URLSearchParams({ ...fields, json: "true" }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", origin: BASE_URL, ...headers },
  });
  jar.take(response);
  return response;
}

export async function signIn(jar: Jar, { email, password }: { email: string; password: string }): Promise<Response> {
  const token = await csrfToken(jar);
  return postForm(jar, "/api/auth/callback/credentials", { email, password, csrfToken: token });
}

export const session = async (jar: Jar) => (await get("/api/auth/session", { cookie: jar.header })).json();

/** Starts a sign-in with a provider. Returns the provider's URL for the browser. */
export async function startProvider(provider: IdentityProvider, jar: Jar, callbackUrl = "/"): Promise<string> {
  const token = await csrfToken(jar);
  const response = await postForm(jar, `/api/auth/signin/${provider.id}`, { csrfToken: token, callbackUrl });
  return ((await response.json()) as { url: string }).url;
}

/** Follows a provider's redirect to the callback, as a navigation from another site. */
export async function followCallback(jar: Jar, url: string): Promise<Response> {
  const { pathname, search } = new URL(url);
  const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  const response = await get(pathname + search, { cookie: jar.header, headers });
  jar.take(response);
  return response;
}

/** Posts Apple's response as its page does: from another site, so without SameSite=Lax cookies. */
export function postFromApple(url: string): Promise<Response> {
  const { pathname, searchParams, origin } = new URL(url);
  return call("POST", pathname, {
    body: searchParams.toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      origin: `https://apple.${new URL(origin).host}`,
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
    },
  });
}

/** Signs in with a provider. Returns the URL to which the callback redirects. */
export async function signInWith(provider: IdentityProvider, jar: Jar, callbackUrl?: string): Promise<string> {
  let callback = await provider.approve(await startProvider(provider, jar, callbackUrl));
  if (provider.id === "apple") callback = (await postFromApple(callback)).headers.get("location") ?? "";
  return (await followCallback(jar, callback)).headers.get("location") ?? "";
}
