import { authenticate, type Principal, type ReadableHeaders } from "../../auth/authenticate";
import { type Context, currentContext } from "../../context";
import { toAppError } from "../problem";

/** The header in which proxy.ts tells a page its own path and query. */
export const PAGE_URL_HEADER = "x-page-url";

/** The process's context, for pages. */
export function pageContext(): Context {
  return currentContext();
}

/** The visitor of a page; null if not signed in. @throws if the database is unavailable */
export async function findVisitor(headers: ReadableHeaders): Promise<Principal | null> {
  try {
    return await authenticate(currentContext(), headers);
  } catch (error) {
    if (toAppError(error).code === "unauthenticated") return null;
    throw error;
  }
}
