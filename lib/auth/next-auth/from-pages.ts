import { z } from "zod";
import type { Caller } from "../../audit/caller";
import { AppError } from "../../errors";
import { type ReadableHeaders, readCredentials } from "../authenticate";
import { answerNextAuth, type NextAuthAnswer, type NextAuthCall } from "./answer";

// What our own pages and their forms ask of next-auth, in process. They have made sure that a form came from a page
// of ours, for which next-auth asks a token of its own.

type Deps = Parameters<typeof answerNextAuth>[0];
/** Who sent the form. */
type From = { headers: ReadableHeaders; caller: Caller };

const Providers = z.record(z.string(), z.object({ id: z.string(), name: z.string(), type: z.string() }));
const Csrf = z.object({ csrfToken: z.string() });

const NOBODY: Caller = { ip: "unknown", userAgent: null, deviceId: "" };

/** The providers, beside the password, with which people can sign in: those that are configured. */
export async function listSignInProviders(ctx: Deps): Promise<{ id: string; name: string }[]> {
  const { body } = await ask(ctx, { method: "GET", segments: ["providers"], caller: NOBODY });
  return Object.values(Providers.parse(JSON.parse(body ?? "{}"))).filter(({ type }) => type === "oauth");
}

/**
 * Begins a sign-in with a provider, or for whoever is signed in the adding of it to the account. The answer's Location
 * is the provider's page; its cookies have to go along. `callbackUrl` is the page that comes after.
 * @throws AppError not_found for a provider that is not configured, rate_limited.
 */
export async function startProvider(
  ctx: Deps,
  provider: string,
  from: From & { callbackUrl: string },
): Promise<NextAuthAnswer> {
  const known = await listSignInProviders(ctx);
  if (!known.some(({ id }) => id === provider)) throw new AppError("not_found");
  const csrf = await ask(ctx, { method: "GET", segments: ["csrf"], caller: from.caller });
  const { csrfToken } = Csrf.parse(JSON.parse(csrf.body ?? "{}"));
  const answer = await ask(ctx, {
    method: "POST",
    segments: ["signin", provider],
    cookieHeader: csrf.cookies.map((line) => line.split(";", 1)[0]).join("; "),
    credentials: readCredentials(from.headers, ctx.config),
    body: { csrfToken, callbackUrl: from.callbackUrl },
    caller: from.caller,
  });
  return { ...answer, cookies: [...csrf.cookies, ...answer.cookies] };
}

/**
 * Confirms an address by its mailed token, once, and signs in: the answer's cookies are the session, and the one that
 * they replace ends. The password, or the provider that this browser signed in with, says whose registration it is.
 * @throws AppError invalid_or_expired_token, invalid_credentials, validation_failed, rate_limited, overloaded
 */
export async function confirmAddress(
  ctx: Deps,
  given: { token: string; password?: string },
  from: From,
): Promise<NextAuthAnswer> {
  const answer = await ask(ctx, {
    method: "POST",
    segments: ["callback", "email"],
    cookieHeader: from.headers.get("cookie"),
    credentials: readCredentials(from.headers, ctx.config),
    body: given,
    caller: from.caller,
  });
  const { searchParams } = new URL(answer.headers.Location ?? "", ctx.config.baseUrl);
  if (searchParams.has("error")) throw new AppError("invalid_or_expired_token");
  return answer;
}

function ask(ctx: Deps, call: Partial<NextAuthCall> & Pick<NextAuthCall, "method" | "segments" | "caller">) {
  return answerNextAuth(ctx, { query: {}, cookieHeader: null, credentials: null, body: {}, ...call });
}
