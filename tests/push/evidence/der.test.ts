import { expect, test } from "vitest";
import { der, octets, sequence } from "@/dev/app-attest/der";
import { derContent, derElements } from "@/lib/push/evidence/der";

const bytes = (hex: string) => Buffer.from(hex, "hex");

test.each([0, 1, 127, 128, 255, 256, 65_535])("reads an element of %i bytes", (length) => {
  const content = Buffer.alloc(length, 7);
  expect(Buffer.from(derContent(octets(content), 0x04))).toEqual(content);
});

test("reads consecutive elements in order, without their contents", () => {
  const both = Buffer.concat([sequence(octets(Buffer.of(1))), der(0xa1, Buffer.of(2))]);
  expect(derElements(both)).toEqual([
    { tag: 0x30, content: octets(Buffer.of(1)) },
    { tag: 0xa1, content: Buffer.of(2) },
  ]);
  expect(derElements(Buffer.alloc(0))).toEqual([]);
});

test.each([
  ["only a tag", "04"],
  ["an element that ends too late", "040201"],
  ["an indefinite length", "30800000"],
  ["a length that could be shorter", "048101aa"],
  ["a length with a leading zero", `04820080${"00".repeat(128)}`],
  ["a length of four octets", "048400000001aa"],
  ["a length that is cut off", "0482ff"],
  ["a length of 16 MiB", "0483ffffff00"],
  ["a reserved length", "04ff00"],
  ["a tag of two octets", "bf893003020100"],
])("%s is not DER", (_, hex) => {
  expect(() => derElements(bytes(hex))).toThrow(RangeError);
});

test.each([
  ["another tag", "0500"],
  ["nothing", ""],
  ["two elements", "04000400"],
])("%s is not the expected element", (_, hex) => {
  expect(() => derContent(bytes(hex), 0x04)).toThrow(RangeError);
});
