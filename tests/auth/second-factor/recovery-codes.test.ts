import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { hashRecoveryCode, newRecoveryCode } from "@/lib/auth/second-factor/recovery-codes";

test("a recovery code is 120 random bits, in four groups of six characters that are taken for no others", () => {
  const codes = Array.from({ length: 100 }, newRecoveryCode);
  expect(new Set(codes).size).toBe(100);
  for (const code of codes) expect(code).toMatch(/^(?:[0-9A-HJKMNP-TV-Z]{6}-){3}[0-9A-HJKMNP-TV-Z]{6}$/);
  expect(new Set(codes.join("").replaceAll("-", "")).size).toBe(32);
});

test("a recovery code is the same in lower case, without the dashes, with spaces and with letters that look alike", () => {
  const stored = createHash("sha256").update("0123456789ABCDEFGHJK1101").digest("base64url");
  for (const typed of [
    "012345-6789AB-CDEFGH-JK1101",
    "0123456789abcdefghjk1101",
    " 012345 6789ab\tcdefgh - jk1101\n",
    "oi2345-6789AB-CDEFGH-JKLIO1",
    "OL2345-6789AB-CDEFGH-JKilol",
  ]) {
    expect([typed, hashRecoveryCode(typed)]).toEqual([typed, stored]);
  }
  for (const other of ["0123456789ABCDEFGHJK1100", "O123456789ABCDEFGHJK110", "U123456789ABCDEFGHJK1101"]) {
    expect([other, hashRecoveryCode(other)]).not.toEqual([other, stored]);
  }
});
