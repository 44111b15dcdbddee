import { describe, expect, test } from "vitest";
import { loadConfig } from "@/lib/platform/config";
import { call, get } from "@/tests/support/api";
import { BASE_URL, clock, withContext } from "@/tests/support/context";

const PATH = "/.well-known/security.txt";
const withContacts = <T>(SECURITY_CONTACT: string, ask: () => Promise<T>) =>
  withContext({ config: { SECURITY_CONTACT: loadConfig({ SECURITY_CONTACT }).SECURITY_CONTACT } }, ask);

describe("security.txt (RFC 9116)", () => {
  test("lists the contacts in their order, and expires within a year", async () => {
    const response = await withContacts("security@example.com, https://example.com/report", () => get(PATH));
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    const fields = (await response.text()).split("\n");
    expect(fields).toEqual([
      "Contact: mailto:security@example.com",
      "Contact: https://example.com/report",
      expect.stringMatching(/^Expires: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
      `Canonical: ${BASE_URL}${PATH}`,
      "",
    ]);
    const days = (Date.parse((fields[2] ?? "").slice("Expires: ".length)) - clock.now().getTime()) / 86_400_000;
    expect(days).toBeGreaterThan(30);
    expect(days).toBeLessThan(365);
  });

  test("is not found without a contact, and answers HEAD", async () => {
    expect((await get(PATH)).status).toBe(404);
    const head = await withContacts("tel:+1-201-555-0123", () => call("HEAD", PATH));
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test.each(["http://example.com/report", "security", "javascript:alert(1)"])("has no contact %j", (contact) => {
    expect(() => loadConfig({ SECURITY_CONTACT: contact })).toThrow(
      "SECURITY_CONTACT.0: must be email addresses or https URLs, separated by commas",
    );
  });
});
