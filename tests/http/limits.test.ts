import { describe, expect, test } from "vitest";
import { createMemoryCounter, waitMs } from "@/lib/platform/limits";

const MINUTE_MS = 60_000;

describe("uses that a process counts in memory", () => {
  /** A counter and its clock. `count` is that of one use in a window of a minute. */
  function newCounter() {
    let at = Date.UTC(2026, 0, 1);
    const counter = createMemoryCounter(() => new Date(at));
    const count = (key: string, uses = 1) => counter({ key, uses, seconds: 60 });
    const advance = (ms: number) => {
      at += ms;
    };
    return { count, advance };
  }

  test("add up until their window ends, which starts with the first", () => {
    const { count, advance } = newCounter();
    expect(count("a")).toEqual({ uses: 1, remainingMs: MINUTE_MS });
    advance(MINUTE_MS - 1);
    expect(count("a")).toEqual({ uses: 2, remainingMs: 1 });
    advance(1);
    expect(count("a")).toEqual({ uses: 1, remainingMs: MINUTE_MS });
  });

  test("are counted for each key, and given back", () => {
    const { count } = newCounter();
    for (let i = 0; i < 3; i += 1) count("a");
    expect(count("b").uses).toBe(1);
    expect(count("a", -2).uses).toBe(1);
  });

  test("start again where a clock that ran ahead started the window", () => {
    const { count, advance } = newCounter();
    count("a");
    advance(-1);
    expect(count("a")).toEqual({ uses: 1, remainingMs: MINUTE_MS });
  });

  test("are kept of the 100,000 newest windows", () => {
    const { count, advance } = newCounter();
    count("renewed");
    count("oldest");
    advance(MINUTE_MS);
    count("renewed");
    for (let i = 0; i < 99_998; i += 1) count(`${i}`);
    expect(count("oldest").uses).toBe(1); // its window was over
    expect(count("renewed").uses).toBe(2);
    expect(count("one more").uses).toBe(1);
    expect(count("renewed").uses).toBe(1);
    expect(count("99997").uses).toBe(2);
  });
});

test("the first nine failures cause no wait, the tenth one minute, and each further one twice the last, up to an hour", () => {
  const rule = { freeFailures: 10, maxWaitMinutes: 60 };
  const minutes = Array.from({ length: 20 }, (_, i) => waitMs(i + 1, rule) / MINUTE_MS);
  expect(minutes).toEqual([...Array(9).fill(0), 1, 2, 4, 8, 16, 32, ...Array(5).fill(60)]);
  expect(waitMs(1_000_000, rule)).toBe(60 * MINUTE_MS);
});
