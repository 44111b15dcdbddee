import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { writeCompletedRollouts } from "@/lib/releases/rollouts/write-completed-rollouts";
import { clock, ctx, withContext } from "@/tests/support/context";
import { callReleases } from "@/tests/support/releases/admin-api";
import {
  FILTER,
  inCatalog,
  manifestFile,
  NEW,
  OLD,
  offered,
  pass,
  publishOldAndNew,
} from "@/tests/support/releases/rollouts";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";

const HOUR_MS = 60 * 60 * 1000;
const STEPS = { filter: FILTER, steps: [20, 100], everySeconds: 3600, minAdoptionShare: 0 };

const key = publishOldAndNew();

const schedule = (body: object = {}) => callReleases("POST", "/rollouts", key.key, { ...STEPS, ...body });
const setState = (id: string, body: object) => callReleases("PATCH", `/rollouts/${id}`, key.key, body);
const eventsOf = async (target: string) => {
  const events = await ctx().db.auditEvent.findMany({ where: { target }, orderBy: { id: "asc" } });
  return events.map(({ type, actor }) => [type, actor]);
};

describe("a rollout over the API", () => {
  test("runs through its steps, is halted and resumed, and leaves the catalog at its last percentage", async () => {
    const started = await schedule();
    expect(started).toMatchObject({ status: 201, state: "running", rollout: 20, step: 0, releaseIds: [NEW] });
    const { id } = started;
    expect(await inCatalog()).toBe(20);
    expect(await offered()).toBeGreaterThan(5);
    expect(await setState(id, { state: "halted", reason: "It crashes." })).toMatchObject({
      status: 200,
      state: "halted",
      rollout: 0,
      haltReason: "It crashes.",
    });
    expect(await offered()).toBe(0);
    expect(await setState(id, { state: "running" })).toMatchObject({ state: "running", rollout: 20, haltReason: null });
    await pass(1.2);
    expect(await callReleases("GET", `/rollouts/${id}`, key.key)).toMatchObject({ state: "running", rollout: 100 });
    expect([await inCatalog(), await offered()]).toEqual([20, 100]);
    await pass(1.2);
    expect([await inCatalog(), await offered()]).toEqual([100, 100]);
    expect((await callReleases("GET", `/rollouts/${id}`, key.key)).settledAt).not.toBeNull();
    expect(await eventsOf(`rollout:${id}`)).toEqual([
      ["rollout_started", `key:${key.id}`],
      ["rollout_halted", `key:${key.id}`],
      ["rollout_resumed", `key:${key.id}`],
      ["rollout_advanced", "service"],
      ["rollout_completed", "service"],
    ]);
    expect((await eventsOf(`release:${NEW}`)).at(-1)).toEqual(["release_changed", "service"]);
  });

  test("that is completed early is at its last percentage at once, and can still be halted", async () => {
    const { id } = await schedule();
    expect(await setState(id, { state: "completed" })).toMatchObject({ state: "completed", rollout: 100 });
    expect([await inCatalog(), await offered()]).toEqual([100, 100]);
    expect(await setState(id, { state: "running" })).toMatchObject({ status: 409, code: "rollout_conflict" });
    clock.advance(2 * HOUR_MS);
    expect(await setState(id, { state: "halted" })).toMatchObject({ status: 200, rollout: 0 });
    expect(await offered()).toBe(0);
    expect(await setState(id, { state: "running" })).toMatchObject({ status: 200, rollout: 100 });
    expect(await offered()).toBe(100);
  });

  test("starts at its time, and offers nothing before, whatever an instance knows of it", async () => {
    const startsAt = new Date(clock.now().getTime() + 2 * HOUR_MS);
    const { id, ...started } = await schedule({ startsAt: startsAt.toISOString() });
    expect(started).toMatchObject({ status: 201, state: "scheduled", rollout: 0, startsAt: startsAt.toISOString() });
    expect([await inCatalog(), await offered()]).toEqual([0, 0]);
    await pass(1.5);
    expect(await offered()).toBe(0);
    await pass(1);
    expect(await callReleases("GET", `/rollouts/${id}`, key.key)).toMatchObject({
      state: "running",
      rollout: 20,
      step: 0,
    });
    expect(await offered()).toBeGreaterThan(5);
    await pass(3);
    expect(await inCatalog()).toBe(100);
  });

  test("that has not started can be halted for good, or started now", async () => {
    const startsAt = new Date(clock.now().getTime() + HOUR_MS).toISOString();
    const halted = await schedule({ startsAt });
    expect(await setState(halted.id, { state: "halted" })).toMatchObject({ state: "halted", startsAt: null });
    await pass(2);
    expect(await offered()).toBe(0);
    const { id } = await schedule({ startsAt: new Date(clock.now().getTime() + HOUR_MS).toISOString() });
    expect(await setState(id, { state: "running" })).toMatchObject({ state: "running", rollout: 20 });
    expect(await offered()).toBeGreaterThan(5);
  });

  test("ends when a percentage is set, even the one that the catalog has already", async () => {
    const { id } = await schedule();
    await pass(1.2);
    expect(await offered()).toBe(100);
    const changed = await callReleases("PATCH", "", key.key, { filter: FILTER, change: { rollout: 20 } });
    expect(changed).toMatchObject({ status: 200, releases: [{ id: NEW, outcome: "unchanged" }] });
    expect(await offered()).toBeLessThan(50);
    expect(await setState(id, { state: "halted" })).toMatchObject({ status: 404, code: "rollout_not_found" });
  });

  test("is written to the catalog again after a crash between its completion and the write", async () => {
    const { id } = await schedule();
    await ctx().db.rolloutSchedule.update({ where: { id }, data: { state: "completed", step: 1 } });
    await ctx().rollouts.refresh();
    expect([await inCatalog(), await offered()]).toEqual([20, 100]);
    await writeCompletedRollouts(ctx());
    expect([await inCatalog(), await offered()]).toEqual([100, 100]);
    // And between the write and its mark.
    await ctx().db.rolloutSchedule.update({ where: { id }, data: { settledAt: null } });
    await writeCompletedRollouts(ctx());
    expect((await ctx().db.rolloutSchedule.findUniqueOrThrow({ where: { id } })).settledAt).not.toBeNull();
  });

  test.each<[string, (id: string) => ReturnType<typeof setState>]>([
    ["halted", (id) => setState(id, { state: "halted" })],
    [
      "ended by its first percentage",
      () => callReleases("PATCH", "", key.key, { filter: FILTER, change: { rollout: 20 } }),
    ],
  ])("that is %s while its last percentage is written is not written", async (_, change) => {
    const { id } = await schedule();
    await ctx().db.rolloutSchedule.update({ where: { id }, data: { state: "completed", step: 1 } });
    await ctx().rollouts.refresh();
    const before = await offered();
    const db = ctx().db.$extends({
      query: {
        rolloutSchedule: {
          findMany: async ({ args, query }) => {
            const read = await query(args);
            expect(await change(id)).toMatchObject({ status: 200 });
            return read;
          },
        },
      },
    }) as unknown as Context["db"];
    await writeCompletedRollouts({ ...ctx(), db });
    expect([before, await inCatalog()]).toEqual([100, 20]);
    expect(await offered()).toBeLessThan(50);
  });

  test("goes on to apply where the catalog cannot be written", async () => {
    const { id } = await schedule();
    await ctx().db.rolloutSchedule.update({ where: { id }, data: { state: "completed", step: 1 } });
    await ctx().rollouts.refresh();
    await withContext({ config: { RELEASE_CATALOG: "https://cdn.example.com/c.json" } }, () =>
      writeCompletedRollouts(ctx()),
    );
    clock.advance(3 * HOUR_MS);
    await ctx().rollouts.refresh();
    expect([await inCatalog(), await offered()]).toEqual([20, 100]);
  });

  test("that has completed long ago leaves the catalog to the operator, who goes back to the first step by hand", async () => {
    const { id } = await schedule();
    await setState(id, { state: "completed" });
    clock.advance(2 * HOUR_MS);
    await ctx().rollouts.refresh();
    const text = await readFile(manifestFile(), "utf8");
    const manifest = JSON.parse(text) as { releases: { id: string; rollout?: number }[] };
    for (const release of manifest.releases) if (release.id === NEW) release.rollout = 20;
    await writeFile(manifestFile(), JSON.stringify(manifest));
    await ctx().catalog.refresh();
    await pass(0.2);
    expect(await inCatalog()).toBe(20);
    expect(await offered()).toBeLessThan(50);
  });

  test("of a catalog at a URL needs the first percentage there", async () => {
    await withContext({ config: { RELEASE_CATALOG: "https://cdn.example.com/c.json" } }, async () => {
      expect(await schedule()).toMatchObject({ status: 409, code: "catalog_not_editable" });
      expect(await schedule({ steps: [100] })).toMatchObject({ status: 201, rollout: 100 });
    });
  });

  test.each<[object, number, string]>([
    [{ steps: [20, 5] }, 422, "rollout_invalid"],
    [{ steps: Array.from({ length: 21 }, (_, i) => i + 1) }, 422, "validation_failed"],
    [{ everySeconds: 1 }, 422, "rollout_invalid"],
    [{ startsAt: "2099-01-01T00:00:00Z" }, 422, "rollout_invalid"],
    [{ filter: { product: "core", version: "9.9.9" } }, 404, "release_not_found"],
    [{ every: "1h" }, 422, "validation_failed"],
  ])("is refused with %j, and nothing changes", async (body, status, code) => {
    expect(await schedule(body)).toMatchObject({ status, code });
    expect(await inCatalog()).toBe(100);
  });

  test("that does not exist is an error with a code", async () => {
    for (const unknown of [randomUUID(), "x"]) {
      expect(await setState(unknown, { state: "halted" })).toMatchObject({ status: 404, code: "rollout_not_found" });
    }
  });
});

describe("a rollback over the API", () => {
  test("withdraws the newer release and offers the older one to who has it, at once", async () => {
    const check = (current: string) => getVersion(`${WINDOWS}&current=${current}`);
    await schedule();
    const back = { filter: { product: "core", version: "1.0.0" } };
    expect(await callReleases("POST", "/rollbacks", key.key, back)).toMatchObject({
      status: 200,
      releases: [{ id: OLD, outcome: "changed" }],
      withdrawn: [NEW],
    });
    expect(await check("2.0.0")).toMatchObject({ version: "1.0.0", updateAvailable: true });
    expect(await ctx().db.rolloutSchedule.findMany()).toMatchObject([
      { state: "halted", haltReason: "It was yanked." },
    ]);
    expect(await callReleases("POST", "/rollbacks", key.key, back)).toMatchObject({
      releases: [{ id: OLD, outcome: "unchanged" }],
      withdrawn: [],
    });
    const newest = { filter: { product: "core", version: "2.0.0" } };
    expect(await callReleases("POST", "/rollbacks", key.key, newest)).toMatchObject({ code: "release_yanked" });
  });

  test("pauses the newer release if it shall be rolled out again, and ends its schedule", async () => {
    const back = { filter: { ids: [OLD] }, withdrawal: "pause" };
    await schedule();
    const before = await inCatalog();
    expect(await callReleases("POST", "/rollbacks", key.key, back)).toMatchObject({ withdrawn: [NEW] });
    expect(await inCatalog()).toBe(0);
    expect(await offered()).toBe(0);
    expect(await ctx().db.rolloutSchedule.count()).toBe(0);
    const where = { type: "release_changed", target: `release:${NEW}` };
    const event = await ctx().db.auditEvent.findFirst({ where, orderBy: { id: "desc" } });
    expect(event?.details).toMatchObject({ from: { rollout: before }, to: { rollout: 0 }, rollback: [OLD] });
  });
});

test("a release is verified with all its files, and a damaged one is named without the folder of the machine", async () => {
  const verify = (id: string) => callReleases("POST", "/verifications", key.key, { releaseId: id });
  expect(await verify(NEW)).toMatchObject({ status: 200, files: [{ problem: null }], elsewhere: 0 });
  const manifest = JSON.parse(await readFile(manifestFile(), "utf8")) as {
    releases: { id: string; artifacts: { installer: { file: string } } }[];
  };
  const file = manifest.releases.find(({ id }) => id === NEW)?.artifacts.installer.file ?? "";
  await rm(path.join(path.dirname(manifestFile()), file));
  const damaged = await verify(NEW);
  expect(JSON.stringify(damaged)).toContain("no such file");
  expect(JSON.stringify(damaged)).not.toContain(ctx().config.DATA_DIR);
  expect(await verify("core-missing")).toMatchObject({ status: 404, code: "release_not_found" });
});
