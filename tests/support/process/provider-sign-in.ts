import { expect } from "vitest";
import type { Jar } from "../auth/browser";
import type { IdentityProvider } from "../auth/identity-provider";
import { BASE_URL } from "../context";
import type { Service } from "./service";

/** Signs in with a provider in the browser that `jar` stands for. The service's NEXTAUTH_URL is `BASE_URL`. */
export async function signInWith(provider: IdentityProvider, service: Service, jar: Jar): Promise<void> {
  const visit = async (path: string, init: RequestInit = {}) => {
    const headers = { ...init.headers, cookie: jar.header, origin: BASE_URL };
    const response = await service.fetch(path, { ...init, headers, redirect: "manual" });
    jar.take(response);
    return response;
  };
  const { csrfToken } = (await (await visit("/api/auth/csrf")).json()) as { csrfToken: string };
  const body = new URLSearchParams({ csrfToken, json: "true" });
  const asked = await visit(`/api/auth/signin/${provider.id}`, { method: "POST", body });
  const { pathname, search } = new URL(await provider.approve(((await asked.json()) as { url: string }).url));
  expect((await visit(pathname + search)).status).toBe(302);
}
