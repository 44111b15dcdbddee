import { z } from "zod";
import type { Context } from "../context";
import { AppError } from "../errors";
import type { Caller } from "./credentials";
import { answerNextAuth, type NextAuthAnswer, type NextAuthCall } from "./next-auth";

type Deps = Parameters<typeof answerNextAuth>[0];

const Providers = z.record(z.string(), z.object({ id: z.string(), name: z.string(), type: z.string() }));
const Csrf = z.object({ csrfToken: z.string() });

const NOBODY: Caller = { address: "unknown", client: null };

/** The providers, beside the password, with which people can sign in: those that are configured. */
export async function listSignInProviders(ctx: Deps): Promise<{ id: string; name: string }[]> {
  const { body } = await ask(ctx, { method: "GET", segments: ["providers"], caller: NOBODY });
  return Object.values(Providers.parse(JSON.parse(body ?? "{}"))).filter(({ type }) => type === "oauth");
}

/**
 * Begins a sign-in with a provider: the answer's Location is the provider's page, its cookies have to go along.
 * Whoever calls has made sure that the request came from our own page, which next-auth asks a token for.
 * @throws AppError not_found for a provider that is not configured.
 */
export async function startProvider(
  ctx: Deps & Pick<Context, "config">,
  provider: string,
  callbackUrl: string,
  caller: Caller,
): Promise<NextAuthAnswer> {
  const known = await listSignInProviders(ctx);
  if (!known.some(({ id }) => id === provider)) throw new AppError("not_found");
  const csrf = await ask(ctx, { method: "GET", segments: ["csrf"], caller });
  const { csrfToken } = Csrf.parse(JSON.parse(csrf.body ?? "{}"));
  const cookieHeader = csrf.cookies.map((line) => line.split(";", 1)[0]).join("; ");
  const body = { csrfToken, callbackUrl };
  const begun = await ask(ctx, { method: "POST", segments: ["signin", provider], cookieHeader, body, caller });
  return { ...begun, cookies: [...csrf.cookies, ...begun.cookies] };
}

function ask(ctx: Deps, call: Partial<NextAuthCall> & Pick<NextAuthCall, "method" | "segments" | "caller">) {
  return answerNextAuth(ctx, { query: {}, cookieHeader: null, body: {}, ...call });
}
