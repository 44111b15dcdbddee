import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { ReadableHeaders } from "../../platform/http-message";
import { RouteResponse } from "../../platform/http-message";
import type { Caller } from "../../principal";
import { readCredentials } from "../authenticate";
import { issuerOf, oauthProviders } from "../sign-in-providers/providers";
import type { NextAuthCall } from "./call-from-request";
import { respondNextAuth } from "./respond";
import { cookiesOf } from "./run";
import type { NextAuthDeps } from "./sign-in-callback";

// Calls of next-auth by our own pages and forms, within the process. The form's route has checked the origin.

type CallSource = { headers: ReadableHeaders; caller: Caller };

const Csrf = z.object({ csrfToken: z.string() });

/** The configured OAuth providers. `host` is that of their sign-in page. */
export function listSignInProviders({ config, now }: Pick<Context, "config" | "now">) {
  return oauthProviders(config, now()).map(({ id, name }) => ({ id, name, host: new URL(issuerOf(config, id)).host }));
}

/**
 * Starts a sign-in with a provider, or its linking to the account that is signed in. Redirect to the response's
 * Location with its cookies. `callbackUrl` is the page that follows.
 * @throws AppError not_found for a provider that is not configured, rate_limited
 */
export async function startProvider(
  ctx: NextAuthDeps,
  provider: string,
  { headers, caller, callbackUrl }: CallSource & { callbackUrl: string },
): Promise<RouteResponse> {
  if (!listSignInProviders(ctx).some(({ id }) => id === provider)) throw new AppError("not_found");
  const csrf = await call(ctx, { method: "GET", segments: ["csrf"], caller });
  const { csrfToken } = Csrf.parse(JSON.parse(String(csrf.body)));
  const csrfCookies = cookiesOf(csrf);
  const started = await call(ctx, {
    method: "POST",
    segments: ["signin", provider],
    cookieHeader: csrfCookies.map((cookie) => cookie.split(";", 1)[0]).join("; "),
    credentials: readCredentials(headers, ctx.config),
    body: { csrfToken, callbackUrl },
    caller,
  });
  // Both calls set the callback URL. A browser keeps the last cookie of a name.
  const cookies = [...csrfCookies, ...cookiesOf(started)];
  return new RouteResponse(started.status, started.body, { ...started.headers, "Set-Cookie": cookies });
}

/**
 * Confirms an email by its emailed token, once, and signs in: the response's cookies carry the new session, or the
 * challenge of an account with a second factor, whose page is the response's Location. The password, or the provider
 * with which this browser signed in, proves whose registration it is.
 * @throws AppError invalid_or_expired_token, invalid_credentials, validation_failed, rate_limited, overloaded
 */
export async function confirmEmail(
  ctx: NextAuthDeps,
  body: { token: string; password?: string },
  { headers, caller }: CallSource,
): Promise<RouteResponse> {
  const sent = { cookieHeader: headers.get("cookie"), credentials: readCredentials(headers, ctx.config), body };
  const response = await call(ctx, { method: "POST", segments: ["callback", "email"], ...sent, caller });
  const { searchParams } = new URL(String(response.headers.Location ?? ""), ctx.config.baseUrl);
  const error = searchParams.get("error");
  if (error !== null && error !== "second_factor_required") throw new AppError("invalid_or_expired_token");
  return response;
}

function call(ctx: NextAuthDeps, input: Partial<NextAuthCall> & Pick<NextAuthCall, "method" | "segments" | "caller">) {
  return respondNextAuth(ctx, { query: {}, cookieHeader: null, credentials: null, body: {}, ...input });
}
