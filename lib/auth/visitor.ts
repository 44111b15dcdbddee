import { type Context, currentContext } from "../context";
import { SOCKET_IP_HEADER } from "../platform/http/pages/page-headers";
import { toAppError } from "../platform/http/problem";
import type { ReadableHeaders } from "../platform/http-message";
import type { Principal } from "../principal";
import { authenticate } from "./authenticate";

export function pageContext(): Context {
  return currentContext();
}

/** The visitor of a page; null if not signed in. @throws if the database is unavailable */
export async function findVisitor(headers: ReadableHeaders): Promise<Principal | null> {
  try {
    return await authenticate(currentContext(), headers, headers.get(SOCKET_IP_HEADER) ?? undefined);
  } catch (error) {
    if (toAppError(error).code === "unauthenticated") return null;
    throw error;
  }
}
