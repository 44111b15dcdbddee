import { expect, test } from "vitest";
import { call } from "@/tests/support/api";
import { BASE_URL, ctx, withContext } from "@/tests/support/context";

test.each([
  ["/api/subscription/checkout", "/api/subscription/status"],
  ["/api/subscription/webhook", "/api/subscription/billing-provider-webhook"],
])("%s is gone and names its successor, also while the database is down", async (path, successor) => {
  for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    const response = await call(method, path);
    expect([method, response.status]).toEqual([method, 410]);
    expect(["deprecation", "sunset", "link"].map((name) => response.headers.get(name))).toEqual([
      "@1795305600",
      "Sun, 22 Nov 2026 00:00:00 GMT",
      `<${BASE_URL}${successor}>; rel="successor-version"`,
    ]);
    const body = await response.text();
    if (method === "HEAD") expect(body).toBe("");
    else expect(JSON.parse(body)).toMatchObject({ status: 410, code: "endpoint_retired" });
  }
  const ignored = { body: "x".repeat(1_000_000), headers: { "content-type": "text/plain" } };
  expect((await call("POST", path, ignored)).status).toBe(410);
  const database = { ...ctx().database, migrated: () => Promise.reject(new Error("connection terminated")) };
  await withContext({ database }, async () => expect((await call("POST", path)).status).toBe(410));
});
