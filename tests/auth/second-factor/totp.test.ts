import { Secret } from "otpauth";
import { expect, test } from "vitest";
import { newTotpSecret, timeStepOf, totpUri } from "@/lib/auth/second-factor/totp";

/** RFC 6238, appendix B, for SHA-1: the last six of the eight digits. */
const SECRET = Secret.fromUTF8("12345678901234567890").base32;
const VECTORS = [
  [59, "287082"],
  [1_111_111_109, "081804"],
  [1_111_111_111, "050471"],
  [1_234_567_890, "005924"],
  [2_000_000_000, "279037"],
  [20_000_000_000, "353130"],
] as const;

test.each(VECTORS)(
  // ASVS 6.5.5
  "the code of RFC 6238 at %i seconds is right then, and a step before and after",
  async (seconds, code) => {
    const step = Math.floor(seconds / 30);
    for (const delta of [-1, 0, 1]) {
      expect(await timeStepOf(code, SECRET, new Date((step + delta) * 30_000))).toBe(step);
    }
    for (const delta of [-2, 2]) expect(await timeStepOf(code, SECRET, new Date((step + delta) * 30_000))).toBeNull();
  },
);

test.each(["", "28708", "2870820", "94287082", "２８７０８２", "28708a", "-87082", "1e5"])(
  "%j is no code",
  async (code) => {
    expect(await timeStepOf(code, SECRET, new Date(59_000))).toBeNull();
  },
);

// ASVS 6.5.3
test("a secret has 160 random bits", async () => {
  const secrets = await Promise.all(Array.from({ length: 50 }, newTotpSecret));
  expect(new Set(secrets).size).toBe(50);
  for (const secret of secrets) expect(Secret.fromBase32(secret).bytes).toHaveLength(20);
});

test("the key URI names the account, and its parts cannot be forged by an email", async () => {
  const uri = new URL(
    await totpUri("ABCDEFGH", { issuer: "app.example.com", email: "ann+x?secret=EVIL&a:b@example.com" }),
  );
  expect(uri.protocol + uri.host).toBe("otpauth:totp");
  expect(decodeURIComponent(uri.pathname)).toBe("/app.example.com:ann+x?secret=EVIL&a:b@example.com");
  expect(uri.searchParams.getAll("secret")).toEqual(["ABCDEFGH"]);
  expect(uri.searchParams.get("issuer")).toBe("app.example.com");
});
