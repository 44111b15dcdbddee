import type { Context } from "../context";
import { AppError } from "../errors";
import { sessionCookie } from "./cookie";
import { findSession } from "./sessions/sessions";

type Found = NonNullable<Awaited<ReturnType<typeof findSession>>>;

/** Who calls: the account, and the session with the way by which it came. */
export type Principal = { account: Found["account"]; session: Found["session"] & { via: "bearer" | "cookie" } };

/** What is read of a request's headers; names in lower case. */
export type ReadableHeaders = { get: (name: string) => string | null };

/** A session's token, and how it came. */
export type Credentials = { token: string; via: "bearer" | "cookie" };

type Deps = Pick<Context, "config" | "db" | "now">;

/** The caller's session. @throws AppError unauthenticated */
export async function authenticate(deps: Deps, headers: ReadableHeaders): Promise<Principal> {
  const credentials = readCredentials(headers, deps.config);
  const found = credentials && (await findSession(deps, credentials.token));
  if (!found) throw new AppError("unauthenticated");
  return { account: found.account, session: { ...found.session, via: credentials.via } };
}

/** Bearer (RFC 6750), or the session cookie; where there is an Authorization header the cookie does not count. */
export function readCredentials(headers: ReadableHeaders, config: Context["config"]): Credentials | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    const token = /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
    return token ? { token, via: "bearer" } : null;
  }
  const token = sessionCookie(headers.get("cookie"), config);
  return token ? { token, via: "cookie" } : null;
}
