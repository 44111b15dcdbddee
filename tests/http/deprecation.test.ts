import { expect, test } from "vitest";
import { z } from "zod";
import { describeOperation } from "@/dev/openapi/operation";
import { operation } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import { BASE_URL, ctx } from "@/tests/support/context";

const deprecated = operation({
  id: "getOld",
  summary: "Old",
  description: "An old operation.",
  deprecated: { since: "2027-01-31", sunset: "2028-02-01", successor: "/api/new" },
  query: z.object({ n: z.coerce.number().optional() }),
  response: { schema: z.object({ ok: z.boolean() }) },
  run: () => ({ ok: true }),
});

test("every response of a deprecated operation says since when, until when, and what replaces it", async () => {
  expect(ctx().config.baseUrl).toBe(BASE_URL);
  const { GET, HEAD, POST } = defineRoute("/api/old", { GET: deprecated });
  const ask = async (handle: typeof GET, method: string, search = "") => {
    const { status, headers } = await handle(new Request(`${BASE_URL}/api/old${search}`, { method }), {});
    return [status, ...["deprecation", "sunset", "link"].map((name) => headers.get(name))];
  };
  const said = ["@1801353600", "Tue, 01 Feb 2028 00:00:00 GMT", `<${BASE_URL}/api/new>; rel="successor-version"`];
  expect(await ask(GET, "GET")).toEqual([200, ...said]);
  expect(await ask(GET, "GET", "?n=x")).toEqual([400, ...said]);
  expect(await ask(HEAD, "HEAD")).toEqual([200, ...said]);
  expect(await ask(POST, "POST")).toEqual([405, null, null, null]); // no operation
});

test("the OpenAPI document says it, too", () => {
  const described = describeOperation("GET", "Core", deprecated);
  expect(described).toMatchObject({
    deprecated: true,
    description:
      "An old operation.\n\nDeprecated since 2027-01-31: use `/api/new`. It works until 2028-02-01, at least.",
  });
  const headers = Object.values(described.responses as unknown as Record<string, { headers: object }>).map(
    (one) => one.headers,
  );
  expect(headers.length).toBeGreaterThan(2);
  for (const one of headers) {
    expect(Object.keys(one)).toEqual(expect.arrayContaining(["Deprecation", "Sunset", "Link"]));
  }
});
