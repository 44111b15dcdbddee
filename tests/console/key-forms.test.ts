import { beforeAll, describe, expect, test } from "vitest";
import { hashKey } from "@/lib/auth/api-keys/key-text";
import { readShownSecret } from "@/lib/platform/http/pages/page-cookies";
import { get } from "@/tests/support/api";
import { newKey, statusOf } from "@/tests/support/auth/api-keys";
import { operatorWithRole } from "@/tests/support/console/operators";
import { clock, ctx } from "@/tests/support/context";
import { cookiesOf, flashOf, submit, submitByScript } from "@/tests/support/web/forms";

const PAGE = "/console/settings/keys";
const NEW_KEY = { name: "CI", "scopes.releases:write": "on", "scopes.audit:read": "on", lifetime: "30" };

let admin: Awaited<ReturnType<typeof operatorWithRole>>;
let cookie: string;
beforeAll(async () => {
  admin = await operatorWithRole("admin");
  ({ cookie } = admin);
});

const locationOf = (response: Response) => response.headers.get("location");
const shownTo = (accountId: string, cookie: string) =>
  readShownSecret(ctx(), accountId, "key", new Headers({ cookie }));

describe("the form that creates an API key", () => {
  test("creates it, and shows it to the operator who created it alone, until they have stored it", async () => {
    const { id } = admin;
    const created = await submit("console/createApiKey", { ...NEW_KEY, networks: "203.0.113.0/24, ::1" }, { cookie });
    expect([created.status, locationOf(created)]).toEqual([303, `${PAGE}?done=key_created`]);
    const shown = cookiesOf(created);
    const key = await shownTo(id, shown);
    expect(shown).not.toContain(key);
    const { id: otherId } = await operatorWithRole("admin");
    expect(await shownTo(otherId, shown)).toBeNull();
    const row = await ctx().db.apiKey.findUniqueOrThrow({ where: { keyHash: hashKey(key ?? "") } });
    expect(row).toMatchObject({ scopes: ["audit:read", "releases:write"], networks: ["203.0.113.0/24", "::1/128"] });
    expect(Math.round((Number(row.expiresAt) - row.createdAt.getTime()) / 86_400_000)).toBe(30);
    const kept = await submit("console/forgetShownSecret", { returnTo: PAGE }, { cookie });
    expect(kept.headers.getSetCookie().join()).toMatch(/shown-secret=;.*Expires=Thu, 01 Jan 1970/i);
  });

  test("takes products, if all scopes are for releases", async () => {
    const fields = { ...NEW_KEY, products: "ops, core", "scopes.audit:read": "" };
    const shown = cookiesOf(await submit("console/createApiKey", fields, { cookie }));
    const keyHash = hashKey((await shownTo(admin.id, shown)) ?? "");
    expect((await ctx().db.apiKey.findUnique({ where: { keyHash } }))?.products).toEqual(["core", "ops"]);
    const refused = flashOf(await submit("console/createApiKey", { ...NEW_KEY, products: "core" }, { cookie }));
    expect(refused?.fields.scopes).toContain("for releases only");
    expect(refused?.values.products).toBe("core");
  });

  test.each([
    [{ "scopes.releases:write": "" }, { "scopes.audit:read": "" }, "scopes", "Required"],
    [{ name: "" }, {}, "name", "Required"],
    [{ "scopes.root": "on" }, {}, "scopes/2", ""],
    [{ networks: "example.com" }, {}, "networks", "Must be a network"],
  ])("with %j and %j names the field %s", async (changed, alsoChanged, field, message) => {
    const response = await submit("console/createApiKey", { ...NEW_KEY, ...changed, ...alsoChanged }, { cookie });
    const flash = flashOf(response);
    expect(Object.keys(flash?.fields ?? {})).toEqual([field]);
    expect(flash?.fields[field]).toContain(message);
    const entered = Object.entries({ ...NEW_KEY, ...changed, ...alsoChanged });
    const kept = entered.filter(([name, value]) => value !== "" && name !== "scopes.root");
    expect(flash?.values).toEqual(Object.fromEntries(kept));
  });
});

describe("a form of the console", () => {
  const revoke = async (id: string, cookie: string, fields: Record<string, string> = {}) =>
    submit("console/revokeApiKey", { keyId: id, ...fields }, { cookie });

  test("returns to the page that it was sent from, and to no other site's", async () => {
    const id = async () => (await newKey()).id;
    const to = async (returnTo: string) => locationOf(await revoke(await id(), cookie, { returnTo }));
    expect(await to("/console/settings/keys?cursor=abc&done=old")).toBe(`${PAGE}?cursor=abc&done=key_revoked`);
    for (const foreign of ["https://evil.example/console", "//evil.example/console", "/account", "/consoles", "%"]) {
      expect([foreign, await to(foreign)]).toEqual([foreign, `${PAGE}?done=key_revoked`]);
    }
  });

  test("of an admin changes nothing for support, a customer or a stranger", async () => {
    const { id } = await newKey();
    for (const role of ["support", "user"] as const) {
      const { cookie } = await operatorWithRole(role);
      const refused = await revoke(id, cookie);
      expect([role, flashOf(refused)?.message]).toEqual([role, "Your role does not allow this."]);
    }
    expect(locationOf(await revoke(id, ""))).toMatch(/^\/sign-in\?callbackUrl=%2Fconsole%2Fsettings%2Fkeys/);
    expect(await statusOf(id)).toBe("active");
  });

  test("asks for a recent authentication first, and leads back to the page", async () => {
    const { id } = await newKey();
    clock.advance(11 * 60 * 1000);
    const returnTo = `${PAGE}?cursor=abc`;
    const refused = await revoke(id, cookie, { returnTo });
    expect(locationOf(refused)).toBe(`/confirm?${new URLSearchParams({ callbackUrl: returnTo })}`);
    const byScript = await submitByScript("console/revokeApiKey", { keyId: id, returnTo }, { cookie });
    expect(await byScript.json()).toEqual({ location: locationOf(refused) });
    expect(await statusOf(id)).toBe("active");
  });

  test("runs operations that have one alone, by POST alone", async () => {
    for (const form of ["listApiKeys", "getRelease", "constructor", "revokeApiKey/x"]) {
      expect([form, (await submit(`console/${form}`, {}, { cookie })).status]).toEqual([form, 404]);
    }
    const read = await get("/forms/console/revokeApiKey", { cookie });
    expect([read.status, read.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });

  test("from another site's page is refused", async () => {
    const { id } = await newKey();
    for (const headers of [{ origin: "https://evil.example" }, { origin: "null" }, { origin: "" }]) {
      const refused = await submit("console/revokeApiKey", { keyId: id }, { cookie, headers });
      expect([headers, refused.status]).toEqual([headers, 403]);
    }
    expect(await statusOf(id)).toBe("active");
  });

  test("accepts no API key", async () => {
    const { key, id } = await newKey();
    const refused = await submit(
      "console/revokeApiKey",
      { keyId: id },
      { headers: { authorization: `Bearer ${key}` } },
    );
    expect(flashOf(refused)?.message).toBe("API keys may not do this.");
    expect(await statusOf(id)).toBe("active");
  });
});
