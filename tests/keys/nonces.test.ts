import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { encryptToken } from "@/lib/platform/keys/encrypted-token";
import { seal } from "@/lib/platform/keys/key-ring";
import { ctx } from "@/tests/support/context";

const NONCE_BYTES = 12;

// ASVS 11.3.4
test("each encryption under one key has a nonce of 96 bits of its own", () => {
  const key = randomBytes(32);
  const nonces = Array.from({ length: 20_000 }, () => seal(key, "row", Buffer.from("the same text")));
  expect(new Set(nonces.map((sealed) => Buffer.from(sealed, "base64url").toString("hex", 0, NONCE_BYTES))).size).toBe(
    20_000,
  );
});

// ASVS 11.3.4
test("each encrypted token has a nonce of 96 bits of its own", async () => {
  const claims = { sub: "the same claims" };
  const tokens = await Promise.all(
    Array.from({ length: 2_000 }, () =>
      encryptToken(ctx().config.secrets as [string], claims, { purpose: "", ttlSeconds: 60 }),
    ),
  );
  const nonces = tokens.map((token) => token.split(".")[2] ?? ""); // RFC 7516, section 7.1
  expect(nonces.every((nonce) => Buffer.from(nonce, "base64url").length === NONCE_BYTES)).toBe(true);
  expect(new Set(nonces).size).toBe(2_000);
});
