import { expect, test } from "vitest";
import {
  addToSketch,
  createSketch,
  estimateCount,
  hashItem,
  mergeSketch,
  packSketch,
  unpackSketch,
} from "@/lib/releases/adoption/hyperloglog";

const SALT = "a salt";

function sketchOf(from: number, to: number, salt = SALT) {
  const sketch = createSketch();
  for (let i = from; i < to; i++) addToSketch(sketch, hashItem(salt, `client ${i}`));
  return sketch;
}

test.each([0, 1, 10, 100, 1_000, 10_000, 30_000, 50_000, 100_000, 300_000, 1_000_000])(
  "%i distinct clients are counted within 2 percent",
  (clients) => {
    const error = Math.abs(estimateCount(sketchOf(0, clients)) - clients);
    expect(error).toBeLessThanOrEqual(clients * 0.02);
  },
);

test("the error has no bias: with many salts it is near zero on average", () => {
  const salts = Array.from({ length: 16 }, (_, i) => `salt ${i}`);
  for (const clients of [3_000, 40_000]) {
    const errors = salts.map((salt) => estimateCount(sketchOf(0, clients, salt)) / clients - 1);
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
    expect(Math.abs(mean)).toBeLessThan(0.005);
  }
});

test("a client that checks again does not count again", () => {
  const sketch = sketchOf(0, 500);
  for (let i = 0; i < 500; i++) addToSketch(sketch, hashItem(SALT, `client ${i}`));
  expect(sketch).toEqual(sketchOf(0, 500));
});

test("merged sketches are the sketch of both sets, whatever they share", () => {
  const merged = sketchOf(0, 6_000);
  expect(mergeSketch(merged, sketchOf(4_000, 10_000))).toBe(true);
  expect(merged).toEqual(sketchOf(0, 10_000));
  expect(mergeSketch(merged, sketchOf(5_000, 7_000))).toBe(false);
});

test("the same client has another hash with another salt", () => {
  expect(hashItem("monday", "client")).not.toEqual(hashItem("tuesday", "client"));
});

test("a sketch survives packing, and few clients need few bytes", async () => {
  for (const clients of [0, 20, 200_000]) {
    const sketch = sketchOf(0, clients);
    expect(new Uint8Array(await unpackSketch(await packSketch(sketch)))).toEqual(sketch);
  }
  expect((await packSketch(sketchOf(0, 20))).length).toBeLessThan(300);
  expect((await packSketch(sketchOf(0, 200_000))).length).toBeLessThan(9_000);
});

test.each([
  ["too short", new Uint8Array(10)],
  ["a bomb", new Uint8Array(1_000_000)],
])("packed bytes of another size are refused: %s", async (_, bytes) => {
  await expect(unpackSketch(await packSketch(bytes))).rejects.toThrow();
});
