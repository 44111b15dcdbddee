import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { accountWithRole, newKey } from "@/tests/support/auth/api-keys";
import { clock } from "@/tests/support/context";

type Described = {
  description: string;
  security?: Record<string, string[]>[];
  requestBody?: { content: Record<string, unknown> };
};
const { paths } = JSON.parse(readFileSync("public/openapi.json", "utf8")) as {
  paths: Record<string, Record<string, Described>>;
};

/** The operations that only the holder of a session or a key may call. */
const GUARDED = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, { security = [] }]) => security.length > 0)
    .filter(([, { security = [] }]) => security.every(({ bearer, apiKey, cookie }) => bearer ?? apiKey ?? cookie))
    .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);
const forOperators = GUARDED.filter(({ description }) => description.includes("Requires the role"));
const forAdmins = GUARDED.filter(({ description }) => description.includes("Requires the role `admin`"));
const forKeys = GUARDED.filter(({ description }) => description.includes("or an API key with the scope"));
/** Without what is validated before the age of a session. */
const afterStepUp = GUARDED.filter(
  ({ description, requestBody, path }) =>
    description.includes("authenticated within the last 10 minutes") && !requestBody && !path.includes("{environment}"),
);

/** Those that do not respond with a status, called with a token or without one. */
async function othersThan(status: number, operations: typeof GUARDED, token?: string): Promise<string[]> {
  expect(operations.length).toBeGreaterThan(10);
  const others = [];
  for (const { method, path, requestBody } of operations) {
    const [type] = Object.keys(requestBody?.content ?? {});
    const body = type ? { body: "{}", headers: { "content-type": type } } : {};
    const response = await call(
      method,
      path.replaceAll(/\{\w+\}/g, () => randomUUID()),
      { ...body, token },
    );
    if (response.status !== status) others.push(`${method} ${path}: ${response.status}`);
  }
  return others;
}

// ASVS 8.2.1, 8.3.1
test("every operation refuses a caller without the session, the role, the scope or the authentication that it needs", async () => {
  const [customer, support, admin] = [
    await newAccount(),
    await accountWithRole("support"),
    await accountWithRole("admin"),
  ];
  const { key } = await newKey({ scopes: ["releases:write"] });
  const ofOthers = forKeys.filter(({ path }) => !/\/(releases|uploads)/.test(path));
  expect(await othersThan(401, GUARDED)).toEqual([]);
  expect(await othersThan(403, forOperators, customer.token)).toEqual([]);
  expect(await othersThan(403, forAdmins, support.token)).toEqual([]);
  expect(await othersThan(403, ofOthers, key)).toEqual([]);
  clock.advance(11 * 60_000);
  expect(await othersThan(403, afterStepUp, admin.token)).toEqual([]);
});
