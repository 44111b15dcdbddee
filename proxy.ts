import { randomBytes } from "node:crypto";
import { type NextRequest, NextResponse } from "next/server";
import { currentContext } from "@/lib/context";
import { PAGE_URL_HEADER, pageHeaders } from "@/lib/platform/http/pages/page-headers";
import { unavailablePage } from "@/lib/platform/http/pages/unavailable-page";
import { requestId } from "@/lib/platform/http-message";

export const config = {
  matcher: "/((?!api(?:/|$)|forms/|brand/|install/|\\.well-known/|_next/static/|icon\\.svg$).*)",
};

/**
 * Runs before every page: sets its headers, with a nonce that Next reads from the policy and sets on its scripts. API
 * routes and forms do not pass it.
 */
export async function proxy(request: NextRequest): Promise<NextResponse> {
  const nonce = randomBytes(16).toString("base64");
  const isDevelopment = process.env.NODE_ENV === "development";
  const own = { ...pageHeaders(currentContext().config, nonce, isDevelopment), "X-Request-Id": requestId(request) };
  if (request.method !== "GET" && request.method !== "HEAD") {
    return new NextResponse(null, { status: 405, headers: { ...own, Allow: "GET, HEAD" } });
  }
  if (await needsMissingDatabase(request.nextUrl.pathname)) {
    const headers = { ...own, "Content-Type": "text/html; charset=utf-8", "Retry-After": "5" };
    return new NextResponse(unavailablePage(currentContext().config, nonce, request.headers.get("accept-language")), {
      status: 503,
      headers,
    });
  }
  const headers = new Headers(request.headers);
  headers.set("Content-Security-Policy", own["Content-Security-Policy"]);
  headers.set(PAGE_URL_HEADER, request.nextUrl.pathname + request.nextUrl.search);
  const init = { request: { headers }, headers: own };
  // An internal page of Next's, which responds with 500.
  const isInternal = request.nextUrl.pathname.startsWith("/_global-error");
  return isInternal ? NextResponse.rewrite(new URL("/nothing", request.url), init) : NextResponse.next(init);
}

const READS_DATABASE =
  /^\/(account|authorize|confirm|console|device|email-change|first-operator|sign-in\/factor|verify)(\/|$)/;

/** Checked before rendering: afterwards a page cannot respond with 503. */
async function needsMissingDatabase(pathname: string): Promise<boolean> {
  if (!READS_DATABASE.test(pathname)) return false;
  const { checkHealth } = await import("@/lib/platform/http/health"); // loaded with the first such page
  const { checks } = await checkHealth(currentContext(), { probe: "ready" });
  return checks?.database === "error";
}
