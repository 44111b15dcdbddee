import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Input } from "../../operation";
import type { RequestHead } from "../../platform/http-message";
import type { Caller } from "../../principal";
import { type Credentials, readCredentials } from "../authenticate";

/** One call of next-auth. `segments` is the path after /api/auth. */
export type NextAuthCall = {
  method: "GET" | "POST";
  segments: string[];
  query: Record<string, string>;
  cookieHeader: string | null;
  credentials: Credentials | null;
  body: Record<string, unknown>;
  caller: Caller;
};

/** A provider as next-auth's options list it. */
type Provider = { id: string; type: string };

const ACTIONS: Record<NextAuthCall["method"], string[]> = {
  GET: ["providers", "session", "csrf", "signin", "signout", "callback", "verify-request", "error"],
  POST: ["signin", "signout", "callback", "session", "_log"],
};
/** The actions whose path names a provider. */
const PROVIDER_ACTIONS: readonly string[] = ["signin", "callback"];
/** Apple's own site posts this form (`response_mode=form_post`). The response only redirects. */
const FORM_POST_PATH = "/api/auth/callback/apple";

/** Turns a request into a call of next-auth. Cookies are ignored if there is an Authorization header. */
export function toCall({ ctx, request, params, body, caller }: Input<{ nextauth: string[] }>): NextAuthCall {
  return {
    method: request.method === "POST" ? "POST" : "GET",
    segments: params.nextauth,
    query: Object.fromEntries(new URL(request.url, ctx.config.baseUrl).searchParams),
    credentials: readCredentials(request.headers, ctx.config),
    cookieHeader: request.headers.has("authorization") ? null : request.headers.get("cookie"),
    body: (body ?? {}) as NextAuthCall["body"],
    caller,
  };
}

/** A POST must come from our own pages, in addition to next-auth's CSRF token, unless a bearer token authenticates it. */
export function isOwnOriginRequired({ url, headers }: RequestHead, { config }: Context): boolean {
  if (new URL(url, config.baseUrl).pathname === FORM_POST_PATH) return false;
  return readCredentials(headers, config)?.via !== "bearer";
}

/** Whether the path of an action names a provider. */
export function isProviderAction(action: string | undefined): boolean {
  return action !== undefined && PROVIDER_ACTIONS.includes(action);
}

/** The type of the provider that the path names; null if it names none. @throws AppError not_found */
export function requireAction({ method, segments }: NextAuthCall, providers: readonly Provider[]): string | null {
  const [action = "", providerId, ...rest] = segments;
  const isKnown = ACTIONS[method].includes(action) && rest.length === 0;
  const needsProvider = action === "callback" || (method === "POST" && action === "signin");
  if (isKnown && providerId === undefined && !needsProvider) return null;
  const provider = providers.find(({ id }) => id === providerId);
  const hasAction = isProviderAction(action) && (action === "signin" || hasCallback(method, provider));
  if (!isKnown || !provider || !hasAction) throw new AppError("not_found");
  return provider.type;
}

/** Passwords are posted, and so are Apple's responses and the form that confirms an email. */
function hasCallback(method: string, provider: Provider | undefined): boolean {
  if (provider?.type === "credentials") return method === "POST";
  return method === "GET" || provider?.type === "email" || provider?.id === "apple";
}
