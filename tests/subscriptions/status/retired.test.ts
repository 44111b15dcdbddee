import { expect, test } from "vitest";
import { call } from "@/tests/support/api";
import { BASE_URL, ctx, withContext } from "@/tests/support/context";

const RETIRED = [
  ["/api/subscription/checkout", "/api/subscription/status"],
  ["/api/subscription/webhook", "/api/subscription/billing-provider-webhook"],
] as const;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

for (const [path, successor] of RETIRED) {
  test.each(METHODS)(`%s ${path} is gone and names its successor`, async (method) => {
    const response = await call(method, path);
    expect(response.status).toBe(410);
    expect(response.headers.get("link")).toBe(`<${BASE_URL}${successor}>; rel="successor-version"`);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const body = await response.text();
    if (method === "HEAD") expect(body).toBe("");
    else expect(JSON.parse(body)).toMatchObject({ status: 410, code: "endpoint_retired" });
  });

  test(`${path} ignores what it is sent`, async () => {
    for (const body of ["not json", "", "x".repeat(1_000_000)]) {
      expect((await call("POST", path, { body, headers: { "content-type": "text/plain" } })).status).toBe(410);
    }
  });

  test(`${path} responds while the database is down`, async () => {
    const database = { ...ctx().database, migrated: () => Promise.reject(new Error("connection terminated")) };
    await withContext({ database }, async () => expect((await call("POST", path)).status).toBe(410));
  });
}
