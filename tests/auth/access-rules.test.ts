import { describe, expect, test } from "vitest";
import { requireAccess, requireReleaseScope, requireScope } from "@/lib/auth/access-rules";
import { isAppError } from "@/lib/errors";
import type { AccountRole } from "@/lib/platform/db/generated/client";
import { Scope } from "@/lib/principal";

const NOW = new Date("2026-11-29T12:00:00Z");

/** The code of the refusal; null if there is none. */
function refusal(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (isAppError(error)) return error.code;
    throw error;
  }
}

describe("a session", () => {
  type Rule = Parameters<typeof requireAccess>[1];
  const refused = (role: AccountRole, aal: number, ageSeconds: number, rule: Rule) => {
    const account = { role } as Parameters<typeof requireAccess>[0]["account"];
    const authenticatedAt = new Date(NOW.getTime() - ageSeconds * 1000);
    const session = { aal, authenticatedAt } as Parameters<typeof requireAccess>[0]["session"];
    return refusal(() => requireAccess({ account, session }, rule, NOW));
  };

  const roles = ["user", "support", "admin"] as const;
  test.each(roles.flatMap((own, rank) => roles.map((role, least) => [own, role, rank >= least] as const)))(
    "of the role %s may do what the role %s may: %s",
    (own, role, isAllowed) => expect(refused(own, 1, 1e9, { role })).toBe(isAllowed ? null : "forbidden"),
  );

  test("of any role may do what no role is named for, however old it is", () => {
    expect(refused("user", 1, 1e9, {})).toBeNull();
  });

  test("of a lower level, or an older one, has to authenticate again", () => {
    expect(refused("user", 1, 0, { aal: 2 })).toBe("reauthentication_required");
    expect(refused("user", 2, 0, { aal: 2 })).toBeNull();
    expect(refused("user", 1, 300, { maxAgeSeconds: 300 })).toBe("reauthentication_required");
    expect(refused("user", 1, 299, { maxAgeSeconds: 300 })).toBeNull();
  });

  test("is asked to authenticate only if that helps", () => {
    expect(refused("user", 1, 300, { role: "admin", aal: 2, maxAgeSeconds: 300 })).toBe("forbidden");
  });
});

describe("an API key", () => {
  const refused = (scopes: string[], scope?: Scope) =>
    refusal(() => requireScope({ key: { id: "", name: "", scopes, products: [] } }, { scope }));

  test.each(Scope.options)("with the scope %s does that, and reads the same; nothing else", (own) => {
    const [resource] = own.split(":");
    const allowed = Scope.options.filter((scope) => refused([own], scope) === null);
    expect(allowed).toEqual(Scope.options.filter((scope) => scope === own || scope === `${resource}:read`));
  });

  test("does what any of its scopes allows, and nothing with unknown ones or without any", () => {
    expect(refused(["audit:read", "mail:write"], "mail:read")).toBeNull();
    expect(refused(["releases:admin", "read", ":read"], "releases:read")).toBe("forbidden");
    expect(refused(["mail:send"], "mail:write")).toBe("forbidden");
    expect(refused([], "releases:read")).toBe("forbidden");
  });

  test("does nothing that is not for keys", () => expect(refused(["accounts:write"])).toBe("forbidden"));

  test("is told which scope it lacks (RFC 6750)", () => {
    const key = { id: "", name: "", scopes: [], products: [] };
    expect(() => requireScope({ key }, { scope: "mail:write" })).toThrow(
      expect.objectContaining({
        extras: expect.objectContaining({
          headers: { "WWW-Authenticate": 'Bearer realm="homeport", error="insufficient_scope", scope="mail:write"' },
        }),
      }),
    );
  });
});

test("a CI job reads and publishes releases, and does nothing else", () => {
  for (const scope of [undefined, ...Scope.options]) {
    const isAllowed = scope === "releases:read" || scope === "releases:write";
    const refused = refusal(() => requireReleaseScope({ scope }));
    expect([scope, refused]).toEqual([scope, isAllowed ? null : "forbidden"]);
  }
});
