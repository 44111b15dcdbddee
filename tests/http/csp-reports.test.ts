import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { pageHeaders } from "@/lib/platform/http/pages/page-headers";
import { post } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
import { callsHandlers } from "@/tests/support/server";

const PAGE = "https://home.example/reset?from=mail#token=secret";
const MODERN = {
  effectiveDirective: "img-src",
  blockedURL: "https://evil.example/x.png?stolen=secret",
  documentURL: PAGE,
};
const FIREFOX = { "violated-directive": "img-src", "blocked-uri": MODERN.blockedURL, "document-uri": PAGE };
const LOGGED = { directive: "img-src", blocked: "https://evil.example/x.png", page: "https://home.example/reset" };

function send(body: unknown, type = "application/reports+json", ip = "198.51.100.77") {
  const policy = pageHeaders(ctx().config, "n0nce", false)["Content-Security-Policy"];
  const path = /report-uri (\S+);/.exec(policy)?.[1] ?? "";
  return post(path, undefined, {
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": type },
    ip,
  });
}

// The log is the server's otherwise.
describe.runIf(callsHandlers)("a violation of a page's policy", () => {
  test.each([
    [
      "as Chromium and Safari report it",
      [
        { type: "csp-violation", age: 3, body: MODERN },
        { type: "deprecation", body: {} },
      ],
      undefined,
    ],
    ["as Firefox reports it", { "csp-report": FIREFOX }, "application/csp-report"],
    // ASVS 3.4.7
  ])("is logged %s, without queries and fragments", async (_, body, type) => {
    const written: string[] = [];
    const log = pino({}, { write: (line: string) => void written.push(line) });
    const response = await withContext({ log }, () => send(body, type));
    expect(response.status).toBe(204);
    const lines = written.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes("Content-Security-Policy"));
    expect(lines).toEqual([expect.objectContaining({ ...LOGGED, network: "198.51.100.0/24" })]);
    expect(written.join("")).not.toContain("secret");
  });

  test.each(["", "[", "null", '"text"', JSON.stringify(Array(21).fill({}))])("that is %s is refused", async (body) => {
    expect((await send(body)).status).toBeOneOf([400, 422]);
  });

  test("fills the log at most 60 times an hour for each client", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 61; i++) statuses.push((await send([], undefined, "203.0.113.9")).status);
    expect(statuses).toEqual([...Array(60).fill(204), 429]);
  });
});
