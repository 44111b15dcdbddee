import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { call } from "@/tests/support/api";

type Described = { security?: Record<string, string[]>[]; requestBody?: { content: Record<string, unknown> } };
const { paths } = JSON.parse(readFileSync("public/openapi.json", "utf8")) as {
  paths: Record<string, Record<string, Described>>;
};

/** The operations that only the holder of a session or a key may call. */
const guarded = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, { security = [] }]) => security.length > 0)
    .filter(([, { security = [] }]) => security.every(({ bearer, apiKey, cookie }) => bearer ?? apiKey ?? cookie))
    .map(([method, { requestBody }]) => ({ method: method.toUpperCase(), path, requestBody })),
);

// ASVS 8.2.1, 8.3.1
test("every operation for a session or a key refuses a caller without either", async () => {
  expect(guarded.length).toBeGreaterThan(100);
  const answered = [];
  for (const { method, path, requestBody } of guarded) {
    const [type] = Object.keys(requestBody?.content ?? {});
    const body = type && { body: "{}", headers: { "content-type": type } };
    const { status } = await call(
      method,
      path.replaceAll(/\{\w+\}/g, () => randomUUID()),
      body || {},
    );
    if (status !== 401) answered.push(`${method} ${path}: ${status}`);
  }
  expect(answered).toEqual([]);
});
