import { describe, expect, test } from "vitest";
import {
  displayedPrefix,
  findKeys,
  generateApiKey,
  hashKey,
  hasKeyPrefix,
  isApiKey,
} from "@/lib/auth/api-keys/key-text";

/** A key as it was issued once: its last six digits are the CRC-32 of the 43 before. */
const KEY = "hp_0LsbPxkfdEa8Z3HsGbVF43VuS9Dqiyyn1jh01fCsBeB21bVKX";

describe("a key", () => {
  test("is hp_, 43 digits of 256 random bits, and the six of their checksum", () => {
    const keys = Array.from({ length: 50 }, generateApiKey);
    expect(new Set(keys).size).toBe(50);
    for (const key of keys) expect([key, isApiKey(key)]).toEqual([expect.stringMatching(/^hp_[0-9A-Za-z]{49}$/), true]);
    const digits = new Set(keys.flatMap((key) => [...key.slice(3)]));
    expect(digits.size).toBe(62);
  });

  test("of an earlier version is one", () => expect(isApiKey(KEY)).toBe(true));

  test.each([
    ["another digit", KEY.replace("hp_0", "hp_1")],
    ["another checksum", `${KEY.slice(0, -1)}0`],
    ["a digit more", `${KEY}0`],
    ["a digit less", KEY.slice(0, -1)],
    ["a space before", ` ${KEY}`],
    ["a line feed after", `${KEY}\n`],
    ["another prefix", KEY.replace("hp_", "hq_")],
    ["no text", ""],
  ])("is none with %s", (_, text) => expect(isApiKey(text)).toBe(false));

  test("is found in other text, and what only looks like one is not", () => {
    const other = generateApiKey();
    const almost = `${KEY.slice(0, -1)}0`;
    expect(findKeys(`a=${KEY}, b="${other}" ${almost} x${KEY}0 _${other}_`)).toEqual([KEY, other, other]);
    expect(findKeys("")).toEqual([]);
  });

  test("is recognized by its prefix, and shows seven characters", () => {
    expect([hasKeyPrefix(KEY), hasKeyPrefix("hp_"), hasKeyPrefix("xhp_"), hasKeyPrefix("HP_")]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(displayedPrefix(KEY)).toBe(KEY.slice(0, 7));
  });

  test("is stored as its SHA-256", () => {
    expect(hashKey("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});
