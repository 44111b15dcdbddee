import type { Context } from "../context";
import { AppError } from "../errors";
import { authenticateKey, type KeyPrincipal, type RequestSource } from "./api-keys/authenticate-key";
import { hasKeyPrefix } from "./api-keys/key-text";
import { sessionCookie } from "./cookie";
import { authenticateLocalOperator, type LocalOperatorPrincipal } from "./operator/local-operator";
import type { ReadableHeaders } from "./readable-headers";
import { findSession } from "./sessions/sessions";

type Found = NonNullable<Awaited<ReturnType<typeof findSession>>>;

/** The authenticated caller: its account and its session. `via` is how the request carried the token. */
export type Principal = { account: Found["account"]; session: Found["session"] & { via: "bearer" | "cookie" } };

/** A session token, and how the request carried it. */
export type Credentials = { token: string; via: "bearer" | "cookie" };

type Deps = Pick<Context, "config" | "db" | "now">;

/** Authenticates a request by its session token. @throws AppError unauthenticated */
export async function authenticate(deps: Deps, headers: ReadableHeaders): Promise<Principal> {
  const credentials = readCredentials(headers, deps.config);
  const found = credentials && (await findSession(deps, credentials.token));
  if (!found) throw new AppError("unauthenticated");
  return { account: found.account, session: { ...found.session, via: credentials.via } };
}

/** Everybody who may act as an operator: an account with a role, a program, and a person at the service's machine. */
export type AnyPrincipal = Principal | KeyPrincipal | LocalOperatorPrincipal;

/** Where an operator's request comes from. */
type OperatorRequestSource = RequestSource & { socketIp: string | undefined };

/**
 * Authenticates an operator's request by its session token, its API key, or the key of this machine's operator.
 * @throws AppError unauthenticated; those of `authenticateKey` and `authenticateLocalOperator`
 */
export async function authenticateOperator(
  deps: Deps & Pick<Context, "limits" | "log" | "operatorKey">,
  headers: ReadableHeaders,
  sourceOf: () => OperatorRequestSource,
): Promise<AnyPrincipal> {
  const credentials = readCredentials(headers, deps.config);
  if (credentials?.via === "bearer" && hasKeyPrefix(credentials.token)) {
    const source = sourceOf();
    const operator = authenticateLocalOperator(deps, credentials.token, headers, source.socketIp);
    return operator ?? authenticateKey(deps, credentials.token, source);
  }
  return authenticate(deps, headers);
}

/** Reads the bearer token (RFC 6750) or the session cookie. An Authorization header takes precedence over the cookie. */
export function readCredentials(headers: ReadableHeaders, config: Context["config"]): Credentials | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    const token = /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
    return token ? { token, via: "bearer" } : null;
  }
  const token = sessionCookie(headers.get("cookie"), config);
  return token ? { token, via: "cookie" } : null;
}
