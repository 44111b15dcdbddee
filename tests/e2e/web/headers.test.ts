import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERROR_DESCRIPTIONS } from "@/app/(web)/docs/errors/descriptions";
import { ERRORS, type ErrorCode } from "@/lib/errors";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { anyDatabase, newDataDir, type Service, startService } from "@/tests/support/process/service";
import { PAGES } from "@/tests/support/web/pages";

let service: Service;
let RELEASE_CATALOG: string;

beforeAll(async () => {
  RELEASE_CATALOG = path.join(await newDataDir(), "catalog.json");
  await writeSampleCatalog(RELEASE_CATALOG);
  service = await startService({ RATE_LIMITS: "off", RELEASE_CATALOG, ...(await anyDatabase()) });
});

afterAll(async () => {
  expect(await service.end("SIGTERM")).toBe(0);
});

describe("every page", () => {
  // ASVS 3.4.3, 3.4.5, 3.4.6, 3.7.1
  test.each(PAGES)("%s has the strict Content-Security-Policy with a new nonce for each response", async (page) => {
    const load = () => service.fetch(page, { redirect: "manual" });
    const [first, second] = [await load(), await load()];
    const nonces = [first, second].map(
      ({ headers }) => /'nonce-([\w+/=]{24})'/.exec(headers.get("content-security-policy") ?? "")?.[1],
    );
    expect(new Set(nonces).size).toBe(2);
    const policy = first.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'nonce-\S+' 'strict-dynamic'; style-src 'self' 'nonce-\S+'; /,
    );
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("base-uri 'none'");
    expect(policy).not.toContain("unsafe");
    expect(first.headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
    expect(first.headers.get("x-content-type-options")).toBe("nosniff");
    expect(first.headers.get("cache-control")).toMatch(/private.*no-store/);
    expect(first.headers.get("x-request-id")).not.toBeNull();
    expect(first.headers.get("strict-transport-security")).toBeNull();
  });
});

// ASVS 14.2.5
test("an unknown path returns our 404 page", async () => {
  const odd = ["/%F0%9F%9A%A2", "/icons", "/_next/nothing", "/_global-error", "/%5Fglobal-error"];
  for (const page of ["/nothing", "/account/nothing", "/download/nothing", ...odd]) {
    const response = await service.fetch(page);
    expect([page, response.status]).toEqual([page, 404]);
    expect(response.headers.get("content-security-policy")).toContain("'nonce-");
    expect(await response.text()).toContain("Not found");
  }
});

// ASVS 3.4.4
test("files that pages load are sent with nosniff", async () => {
  const html = await (await service.fetch("/")).text();
  const files = [...html.matchAll(/(?:href|src)="(\/(?:_next|icon)[^"]+)"/g)].map(([, file = ""]) => file);
  expect(files.some((file) => file.startsWith("/icon")) && files.some((file) => file.endsWith(".css"))).toBe(true);
  for (const file of files) {
    const { status, headers } = await service.fetch(file);
    expect([file, status, headers.get("x-content-type-options")]).toEqual([file, 200, "nosniff"]);
  }
});

test("every error code is documented under its anchor on the page that problem documents link to", async () => {
  const { type } = (await (await service.fetch("/api/nothing")).json()) as { type: string };
  expect(new URL(type).pathname).toBe("/docs/errors");
  const html = await (await service.fetch("/docs/errors")).text();
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    const [, text = ""] = new RegExp(`id="${code}".*?<dd>(.*?)</dd>`, "s").exec(html) ?? [];
    const words = text
      .replace(/<[^>]*>/g, "")
      .replaceAll("&#x27;", "'")
      .replaceAll("&quot;", '"');
    expect(words).toBe(`${ERRORS[code][1]}. ${ERROR_DESCRIPTIONS[code].replaceAll("`", "")}`);
  }
});

test("without its database the service serves every page but the account", async () => {
  const down = await startService({
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing",
    NEXTAUTH_URL: "https://home.example",
    NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
    RELEASE_CATALOG,
  });
  try {
    const readers = ["account", "authorize", "confirm", "device", "email-change", "sign-in/factor", "verify"];
    for (const page of readers) {
      const response = await down.fetch(`/${page}`, { redirect: "manual" });
      expect(response.status).toBe(503);
      expect(await response.text()).toContain("Temporarily unavailable");
    }
    for (const page of ["/", "/download", "/docs/errors", "/sign-in", "/nothing"]) {
      expect((await down.fetch(page)).status).toBeLessThan(500);
    }
    expect((await down.fetch("/")).headers.get("strict-transport-security")).toMatch(/^max-age=\d{8}/);
    const headers = { origin: "https://home.example", "content-type": "application/x-www-form-urlencoded" };
    const body = "email=a@example.com&password=a+password";
    const refused = await down.fetch("/forms/sign-in", { method: "POST", headers, body, redirect: "manual" });
    expect(refused.headers.get("location")).toMatch(/^\/sign-in\?formErrors=/);
  } finally {
    await down.end("SIGKILL");
  }
});
