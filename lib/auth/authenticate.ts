import type { Context } from "../context";
import { AppError } from "../errors";
import { sessionCookie } from "../platform/http/cookies/cookies";
import type { ReadableHeaders } from "../platform/http/readable-headers";
import type { AnyPrincipal, Principal } from "../principal";
import { authenticateKey, type RequestSource } from "./api-keys/authenticate-key";
import { hasKeyPrefix } from "./api-keys/key-text";
import { authenticateLocalOperator } from "./operator/local-operator";
import { findSession } from "./sessions/sessions";

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
