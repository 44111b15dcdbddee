import { describe, expect, test } from "vitest";
import {
  BY_PASSWORD,
  BY_PROVIDER,
  isFresh,
  MAX_AUTHENTICATION_AGE_SECONDS,
  placeOf,
  seenFrom,
  withSecondFactor,
} from "@/lib/auth/sessions/authentication";

const NOW = new Date("2026-11-29T12:00:00Z");
const secondsAgo = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);

describe("an authentication is recent enough", () => {
  test.each([
    [1, 299.999, 1, true],
    [1, 300, 1, false],
    [2, 299, 1, true],
    [1, 0, 2, false],
    [2, 0, 2, true],
    [2, 301, 2, false],
  ] as const)("of level %i, %d seconds old, for level %i within 300: %s", (own, age, aal, isRecent) => {
    const session = { authenticatedAt: secondsAgo(age), aal: own };
    expect(isFresh(session, { aal, maxAgeSeconds: 300, now: NOW })).toBe(isRecent);
  });
});

test("a password or a provider is one factor, which counts for ten minutes", () => {
  expect([BY_PASSWORD, BY_PROVIDER]).toEqual([
    { aal: 1, amr: ["pwd"] },
    { aal: 1, amr: ["fed"] },
  ]);
  expect(MAX_AUTHENTICATION_AGE_SECONDS).toBe(600);
});

test("a second factor adds itself and both factors to what a session proved, once", () => {
  expect(withSecondFactor({ amr: ["pwd"] }, ["otp"], NOW)).toEqual({
    aal: 2,
    amr: ["pwd", "otp", "mfa"],
    authenticatedAt: NOW,
  });
  expect(withSecondFactor({ amr: ["pwd", "otp", "mfa"] }, ["otp"], NOW).amr).toEqual(["pwd", "otp", "mfa"]);
});

describe("with AUTH_SESSION_CONTEXT an authentication counts", () => {
  const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
  const home = { ip: "198.51.100.7", userAgent: firefox };
  const session = { authenticatedAt: NOW, authenticatedFrom: placeOf(home) };
  const seen = (caller: typeof home, AUTH_SESSION_CONTEXT = true) =>
    seenFrom(session, () => caller, { AUTH_SESSION_CONTEXT }).authenticatedAt;

  test("in its network and with its client alone", () => {
    expect(seen(home)).toEqual(NOW);
    expect(seen({ ...home, ip: "198.51.100.200" })).toEqual(NOW);
    expect(seen({ ...home, ip: "198.51.101.7" })).toEqual(new Date(0));
    expect(seen({ ...home, userAgent: "curl/8.5.0" })).toEqual(new Date(0));
    expect(seen({ ...home, ip: "unknown" })).toEqual(new Date(0));
  });

  test("nowhere where the network is unknown, unless it was then", () => {
    expect(placeOf({ ip: "unknown", userAgent: firefox })).toMatch(/^unknown, Firefox/);
  });

  test("everywhere without it", () => expect(seen({ ...home, ip: "203.0.113.1" }, false)).toEqual(NOW));
});
