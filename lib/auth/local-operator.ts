import { isIP } from "node:net";
import type { Context, OperatorKey } from "../context";
import { AppError } from "../errors";
import type { ReadableHeaders } from "../platform/http-message";
import { isSameSecret } from "../platform/keys/same-secret";
import type { LocalOperatorPrincipal, OperatorName } from "../principal";
import { generateApiKey } from "./api-keys/key-text";

/** In it a command names who runs it, percent-encoded. Trusted only in requests that carry the operator's key. */
const OPERATOR_HEADER = "x-homeport-operator";
/** The headers that proxies add (RFC 7239; RFC 9110, 7.6.3). A command on the same machine sends none. */
const PROXY_HEADERS = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];
/** A user's name: letters of any script, and no character that is invisible. Ranges, because classes take long to compile. */
const NAME =
  /^[\w.@+\\\u00c0-\u061b\u061d-\u1fff\u2c00-\ud7ff-][\w .@+\\\u00c0-\u061b\u061d-\u1fff\u2c00-\ud7ff-]{0,63}$/;

/** Authenticates by the operator's key; null for another token. @throws AppError forbidden beyond this machine */
export function authenticateLocalOperator(
  { config, operatorKey }: Pick<Context, "config" | "operatorKey">,
  token: string,
  headers: ReadableHeaders,
  socketIp: string | undefined,
): LocalOperatorPrincipal | null {
  if (!operatorKey?.matches(token)) return null;
  const isProxied = PROXY_HEADERS.some((name) => headers.get(name) !== null);
  if (isProxied || !isOwnMachine(socketIp, config.HOST)) {
    throw new AppError("forbidden", { detail: "The operator's key is valid only on the service's own machine." });
  }
  return { operator: parseOperatorName(headers.get(OPERATOR_HEADER)) };
}

/** The loopback interface, or the one address that the service listens on. */
function isOwnMachine(socketIp: string | undefined, host: string): boolean {
  const ip = socketIp?.replace(/^::ffff:/i, "");
  if (ip === undefined) return false;
  return /^127\.|^::1$/.test(ip) || (isIP(host) !== 0 && ip === host);
}

/** Parses the operator's percent-encoded name; "operator" if it is missing or not a name. */
export function parseOperatorName(encoded: string | null): OperatorName {
  const name = decode(encoded ?? "");
  return NAME.test(name) ? `operator:${name}` : "operator";
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** Returns a new key, in the format of API keys: scanners recognize it. */
export function createOperatorKey(): OperatorKey {
  const text = generateApiKey();
  let isRevoked = false;
  return {
    text,
    matches: (given) => isSameSecret(given, text) && !isRevoked,
    revoke: () => {
      isRevoked = true;
    },
  };
}
