import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { isInRollout, rolloutBucket } from "@/lib/releases/selection/select-release";

test("a bucket is the first four bytes of the SHA-256 of both ids, in hundredths of a percent", () => {
  // printf %s "core-1.2.0client-7" | sha256sum
  expect(rolloutBucket("core-1.2.0", "client-7")).toBe((0xf5992f4d % 10_000) / 100);
  expect(rolloutBucket("core-1.2.0", "client-8")).not.toBe(rolloutBucket("core-1.2.0", "client-7"));
  expect(rolloutBucket("core-1.3.0", "client-7")).not.toBe(rolloutBucket("core-1.2.0", "client-7"));
});

test("20,000 clients spread within a percent of a rollout", () => {
  const clients = Array.from({ length: 20_000 }, (_, i) => `client-${i}`);
  for (const rollout of [0.3, 10, 50, 99]) {
    const reached = clients.filter((client) => isInRollout({ id: "core-1.2.0", rollout }, client)).length;
    expect(Math.abs(reached / 200 - rollout)).toBeLessThan(rollout < 1 ? 0.1 : 1);
  }
});

test("raising a rollout keeps every client in it", () => {
  const clients = Array.from({ length: 1000 }, () => randomUUID());
  const at = (rollout: number) => clients.filter((client) => isInRollout({ id: "core-1.2.0", rollout }, client));
  expect(at(0)).toEqual([]);
  expect(at(50)).toEqual(expect.arrayContaining(at(10)));
  expect(at(100)).toEqual(clients);
});

test("a client is in a rollout that is above its bucket", () => {
  const clients = Array.from({ length: 50_000 }, (_, i) => `client-${i}`);
  const at = (bucket: number) => clients.find((client) => rolloutBucket("core-1.2.0", client) === bucket) ?? "";
  const isIn = (rollout: number, client: string) => isInRollout({ id: "core-1.2.0", rollout }, client);
  expect([isIn(0, at(0)), isIn(0.01, at(0)), isIn(25, at(25)), isIn(25.01, at(25))]).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

test("clients that are early for one release are not early for the next", () => {
  const clients = Array.from({ length: 10_000 }, (_, i) => `client-${i}`);
  const early = clients.filter((client) => isInRollout({ id: "one", rollout: 10 }, client));
  const again = early.filter((client) => isInRollout({ id: "next", rollout: 10 }, client));
  expect(again.length).toBeLessThan(early.length / 5);
});
