import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { BASE_URL } from "@/tests/support/context";

const LOGIN = "/api/auth/login";
const JSON_TYPE = { "content-type": "application/json" };

/** A body of so many bytes that comes in pieces, without a Content-Length. */
function chunked(size: number): ReadableStream<Uint8Array> {
  let left = size;
  return new ReadableStream({
    pull(controller) {
      if (left <= 0) return controller.close();
      controller.enqueue(new Uint8Array(Math.min(1024, left)).fill(0x20));
      left -= 1024;
    },
  });
}

describe("a body", () => {
  test.each([
    ["empty", ""],
    ["truncated", '{"email":'],
    ["not UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
  ])("that is %s is malformed", async (_, body) => {
    const response = await call("POST", LOGIN, { body, headers: JSON_TYPE });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "malformed_json" });
  });

  test.each([
    ["an array", []],
    ["a number", 5],
    ["null", null],
    ["a string", "x"],
    // ASVS 2.2.1, 2.2.2
  ])("that is %s is not valid", async (_, json) => {
    expect((await post(LOGIN, json)).status).toBe(422);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])(
    "declared as %j is rejected",
    async (type) => {
      const response = await call("POST", LOGIN, { body: "{}", headers: { "content-type": type } });
      expect(response.status).toBe(415);
      expect(await response.json()).toMatchObject({ code: "unsupported_media_type" });
    },
  );

  // ASVS 5.2.1
  test("over 16 KiB is rejected, with and without a Content-Length", async () => {
    for (const body of [" ".repeat(17 * 1024), chunked(17 * 1024)]) {
      const response = await call("POST", LOGIN, { body, headers: JSON_TYPE });
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ code: "payload_too_large" });
    }
    expect((await call("POST", LOGIN, { body: chunked(16 * 1024), headers: JSON_TYPE })).status).toBe(400);
  });

  test("over the limit is rejected by API routes, forms and next-auth alike", async () => {
    const form = { "content-type": "application/x-www-form-urlencoded", origin: BASE_URL };
    const body = `email=${"x".repeat(17 * 1024)}`;
    for (const [path, headers] of [
      [LOGIN, JSON_TYPE],
      ["/forms/sign-in", form],
      ["/api/auth/signin/credentials", form],
    ] as const) {
      const response = await call("POST", path, { body, headers });
      expect([path, response.status]).toEqual([path, 413]);
      expect(await response.json()).toMatchObject({ code: "payload_too_large", limitBytes: 16 * 1024 });
    }
  });

  // ASVS 3.5.1, 3.5.2
  test("of another media type is rejected by API routes, forms and next-auth alike, with the accepted type", async () => {
    for (const [path, accept] of [
      [LOGIN, "application/json"],
      ["/forms/sign-in", "application/x-www-form-urlencoded"],
      ["/api/auth/signout", "application/x-www-form-urlencoded, application/json"],
    ] as const) {
      const response = await call("POST", path, {
        body: "x",
        headers: { "content-type": "text/plain", origin: BASE_URL },
      });
      expect([path, response.status, response.headers.get("accept")]).toEqual([path, 415, accept]);
    }
  });

  test("may have unknown fields", async () => {
    const { email, password } = await newAccount();
    expect((await post(LOGIN, { email, password, more: { than: "asked" } })).status).toBe(200);
  });

  // ASVS 1.3.3
  test.each(["a\0b", "\ud800", "x\udc00y"])("with %j in a string is not valid", async (name) => {
    const response = await post("/api/auth/register", { email: "nul@example.com", password: "long enough", name });
    expect(response.status).toBe(422);
    expect((await response.json()).errors).toMatchObject([{ pointer: "/name", code: "invalid_characters" }]);
  });
});

describe("input that could cause a server error", () => {
  // ASVS 1.5.2
  test.each(["[", '{"a":'])("nested thousands of levels deep by %j is not valid", async (open) => {
    const levels = Math.floor(15_000 / open.length / 2);
    const close = open === "[" ? "]" : "}";
    const body = `${open.repeat(levels)}1${close.repeat(levels)}`;
    const response = await call("POST", LOGIN, { body, headers: JSON_TYPE });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ errors: [{ code: "too_deep" }] });
  });

  test("with thousands of errors gets the first of them", async () => {
    const response = await post(LOGIN, Array<string>(1_500).fill("\0"));
    expect(response.status).toBe(422);
    expect((await response.json()).errors.length).toBeLessThanOrEqual(20);
  });
});

describe("what PostgreSQL cannot store", () => {
  test.each([
    ["billing/events", "type=a%00b"],
    ["push/deliveries", "reason=%00"],
    ["mail/messages", "to=a%00b"],
    ["releases/adoption", "product=%00"],
    ["accounts", "createdFrom=0000-01-01T00:00:00Z"],
    ["audit", "from=0000-01-01"],
    ["audit", "to=9999-12-31T23:59:59-23:59"],
    ["audit.csv", "to=0001-01-01T00:00:00%2B23:59"],
  ])("is refused in the query of %s: %s", async (path, query) => {
    const { token } = await accountWithRole("admin");
    const response = await get(`/api/admin/${path}?${query}`, { token });
    const pointer = `?${query.split("=")[0]}`;
    expect([response.status, await response.json()]).toMatchObject([400, { errors: [{ pointer }] }]);
  });

  test.each([
    ["keys", "/expiresAt", { name: "x", scopes: ["mail:read"], expiresAt: "9999-12-31T23:59:59-23:59" }],
    ["push/messages", "/sendAt", { kind: "app.new_version", version: "1.0", sendAt: "0001-01-01T00:00:00+23:00" }],
    ["billing/replays", "/cursor/from", { state: "all", cursor: replayCursor("0000-01-01T00:00:00Z") }],
    ["releases/rollouts", "/minReports", { filter: {}, steps: [100], everySeconds: 60, minReports: 2 ** 31 }],
  ])("is refused in the body for %s at %s", async (path, pointer, body) => {
    const { token } = await accountWithRole("admin");
    const response = await post(`/api/admin/${path}`, body, { token });
    expect([response.status, await response.json()]).toMatchObject([422, { errors: [{ pointer }] }]);
  });

  test("is not read from a cursor", async () => {
    const { id, token } = await accountWithRole("admin");
    const lists = { "push/deliveries": "push-deliveries///// ended 0", [`accounts/${id}/events`]: `events of ${id}` };
    for (const [path, start] of Object.entries(lists)) {
      const cursor = Buffer.from(`${start} 0000-01-01T00:00:00Z ${id}`).toString("base64url");
      expect((await get(`/api/admin/${path}?cursor=${cursor}`, { token })).status).toBe(200);
    }
  });
});

function replayCursor(from: string): string {
  const time = "2026-11-22T09:00:00Z";
  const position = { from, until: time, receivedAt: time, id: "00000000-0000-7000-8000-000000000000" };
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}
