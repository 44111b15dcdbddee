import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { batchWrite } from "@/lib/platform/db/batch-write";

/** A batched function whose batches end when they are released. Items below zero cannot be processed. */
function batchedFunction() {
  const batches: number[][] = [];
  const alone: number[] = [];
  const atOnce = { now: 0, most: 0 };
  const releases: (() => void)[] = [];
  const warnings: object[] = [];
  const deps = { log: { warn: (about: object) => void warnings.push(about) } };
  const write = batchWrite<typeof deps, number, string>({
    processMany: async (_, items) => {
      batches.push([...items]);
      await new Promise<void>((resolve) => releases.push(resolve));
      if (items.some((item) => item < 0)) throw new Error("a batch with a negative item");
      return items.map((item) => `${item} in a batch`);
    },
    processOne: async (_, item) => {
      alone.push(item);
      atOnce.now += 1;
      atOnce.most = Math.max(atOnce.most, atOnce.now);
      await nextTurn();
      atOnce.now -= 1;
      if (item < 0) throw new Error(`${item} is negative`);
      return `${item} alone`;
    },
  });
  const release = () => releases.splice(0).forEach((end) => void end());
  return { write: (item: number) => write(deps, item), batches, alone, atOnce, release, warnings };
}

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

test("items of one turn of the event loop are one batch, and each gets its own result", async () => {
  const { write, batches, release } = batchedFunction();
  const results = Promise.all(numbers(0, 3).map(write));
  await nextTurn();
  expect(batches).toEqual([[0, 1, 2]]);
  release();
  expect(await results).toEqual(["0 in a batch", "1 in a batch", "2 in a batch"]);
});

test("while three batches run, the items that arrive wait and become the next batch", async () => {
  const { write, batches, release } = batchedFunction();
  for (const item of numbers(0, 5)) {
    void write(item);
    await nextTurn();
  }
  expect(batches).toEqual([[0], [1], [2]]);
  release();
  await nextTurn();
  expect(batches).toEqual([[0], [1], [2], [3, 4]]);
});

test("beside a batch that runs, the next one starts once it is as large", async () => {
  const { write, batches } = batchedFunction();
  for (const items of [numbers(0, 3), [3, 4], [5]]) {
    for (const item of items) void write(item);
    await nextTurn();
  }
  expect(batches).toEqual([
    [0, 1, 2],
    [3, 4, 5],
  ]);
});

test("an item does not wait for long for a larger batch that does not end", async () => {
  const { write, batches } = batchedFunction();
  for (const items of [[0, 1, 2], [3]]) {
    for (const item of items) void write(item);
    await nextTurn();
  }
  await expect.poll(() => batches).toEqual([[0, 1, 2], [3]]);
});

test("a batch has at most 200 items", async () => {
  const { write, batches, release } = batchedFunction();
  const results = Promise.all(numbers(0, 650).map(write));
  await nextTurn();
  expect(batches.map(({ length }) => length)).toEqual([200, 200, 200]);
  release();
  await nextTurn();
  expect(batches[3]).toEqual(numbers(600, 50));
  release();
  expect(await results).toHaveLength(650);
});

test("the items beyond a full batch wait for its end if they are fewer", async () => {
  const { write, batches, release } = batchedFunction();
  const results = Promise.all(numbers(0, 250).map(write));
  await nextTurn();
  expect(batches.map(({ length }) => length)).toEqual([200]);
  release();
  await expect.poll(() => batches.map(({ length }) => length)).toEqual([200, 50]);
  release();
  expect(await results).toHaveLength(250);
});

test("an item that cannot be processed fails alone, the failed batch is logged, and later ones are processed", async () => {
  const { write, alone, release, warnings } = batchedFunction();
  const results = Promise.allSettled([1, -2, 3].map(write));
  await nextTurn();
  release();
  expect(await results).toEqual([
    { status: "fulfilled", value: "1 alone" },
    { status: "rejected", reason: new Error("-2 is negative") },
    { status: "fulfilled", value: "3 alone" },
  ]);
  expect(alone).toEqual([1, -2, 3]);
  const later = write(5);
  await nextTurn();
  release();
  expect(await later).toBe("5 in a batch");
  expect(warnings).toEqual([{ err: new Error("a batch with a negative item"), items: 3 }]);
});

test("eight items of a failed batch are processed at the same time", async () => {
  const { write, atOnce, release } = batchedFunction();
  const results = Promise.allSettled(numbers(-10, 20).map(write));
  await nextTurn();
  release();
  expect(await results).toHaveLength(20);
  expect(atOnce).toEqual({ now: 0, most: 8 });
});
