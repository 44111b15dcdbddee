import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { watchRollouts } from "@/lib/background";
import { clock, ctx, withContext } from "@/tests/support/context";
import { callReleases, publishVersion } from "@/tests/support/releases/admin-api";
import { FILTER, manifestFile, NEW, offered, pass, publishOldAndNew } from "@/tests/support/releases/rollouts";

const MAC = "core-macos-universal-2.0.0";
const PLAN = { filter: FILTER, steps: [20, 50, 100], everySeconds: 3600, minAdoptionShare: 0 };
const SHARE = { least: 8, most: 35 };

const key = publishOldAndNew();

const schedule = (body: object = {}) => callReleases("POST", "/rollouts", key.key, { ...PLAN, ...body });
const setState = (id: string, body: object) => callReleases("PATCH", `/rollouts/${id}`, key.key, body);
const stateOf = async (id: string) => {
  const { state, rollout, haltReason, releaseIds } = await callReleases("GET", `/rollouts/${id}`, key.key);
  return { state, rollout, haltReason, releaseIds };
};
const change = (id: string, fields: object) => callReleases("PATCH", `/${id}`, key.key, fields);
const yank = (id = NEW) => change(id, { yanked: true });
const offerAgain = (id = NEW) => change(id, { yanked: false });

async function expectShare() {
  const share = await offered();
  expect(share).toBeGreaterThan(SHARE.least);
  expect(share).toBeLessThan(SHARE.most);
}

describe("a yank", () => {
  test("halts the schedule, and offering again gives the share that the version had", async () => {
    const { id } = await schedule();
    await yank();
    expect(await stateOf(id)).toMatchObject({ state: "halted", rollout: 0, haltReason: "It was yanked." });
    await pass(5);
    expect(await stateOf(id)).toMatchObject({ state: "halted" });
    await offerAgain();
    expect(await stateOf(id)).toMatchObject({ state: "running", rollout: 20, haltReason: null });
    await expectShare();
    await pass(1.2);
    expect(await stateOf(id)).toMatchObject({ state: "running", rollout: 50 });
    const events = await ctx().db.auditEvent.findMany({ where: { target: `rollout:${id}` }, orderBy: { id: "asc" } });
    expect(events.map(({ type }) => type)).toEqual([
      "rollout_started",
      "rollout_halted",
      "rollout_resumed",
      "rollout_advanced",
    ]);
  });

  test("is over for the schedule as soon as the version is offered again, whatever an instance still knows of it", async () => {
    const { id } = await schedule();
    await yank();
    clock.advance(3_600_000);
    const usual = ctx();
    const refresh = async () => {
      await watchRollouts(usual);
      await usual.catalog.refresh();
    };
    await withContext({ catalog: { ...usual.catalog, refresh } }, () => offerAgain());
    expect(await stateOf(id)).toMatchObject({ state: "running", rollout: 20, haltReason: null });
    await expectShare();
  });

  test("leaves a rollout halted that somebody had halted before, or halts while it is yanked", async () => {
    const { id } = await schedule();
    await setState(id, { state: "halted", reason: "It crashes." });
    await yank();
    await offerAgain();
    expect(await stateOf(id)).toMatchObject({ state: "halted", haltReason: "It crashes." });
    expect(await offered()).toBe(0);
    await setState(id, { state: "running" });
    await yank();
    await setState(id, { state: "halted", reason: "It stays." });
    await offerAgain();
    expect(await stateOf(id)).toMatchObject({ state: "halted", haltReason: "It stays." });
  });

  test("of one platform halts the schedule for all", async () => {
    await publishVersion(key, "2.0.0", { platform: "macos", architecture: "universal" });
    const { id } = await schedule();
    await yank(MAC);
    expect(await stateOf(id)).toMatchObject({ state: "halted" });
    expect(await offered()).toBe(0);
    await offerAgain(MAC);
    await expectShare();
  });

  test("keeps a rollout from starting, also after the release is offered again", async () => {
    const startsAt = new Date(clock.now().getTime() + 3_600_000).toISOString();
    const { id } = await schedule({ startsAt });
    await yank();
    await pass(2);
    await offerAgain();
    await pass(2);
    expect(await stateOf(id)).toMatchObject({ state: "halted", rollout: 0 });
    expect(await offered()).toBe(0);
  });

  test("keeps a rollout from being resumed, completed or scheduled", async () => {
    const { id } = await schedule();
    await yank();
    for (const state of ["running", "completed"]) {
      expect(await setState(id, { state })).toMatchObject({ status: 409, code: "rollout_conflict" });
    }
    expect(await schedule()).toMatchObject({ status: 409, code: "release_yanked" });
    expect(await stateOf(id)).toMatchObject({ state: "halted" });
  });

  test("in the catalog's file halts the schedule, which somebody has to resume", async () => {
    const { id } = await schedule();
    const edit = async (yanked: boolean) => {
      const manifest = JSON.parse(await readFile(manifestFile(), "utf8")) as { releases: { id: string }[] };
      const releases = manifest.releases.map((one) => (one.id === NEW ? { ...one, yanked } : one));
      await writeFile(manifestFile(), JSON.stringify({ ...manifest, releases }));
      await ctx().catalog.refresh();
    };
    await edit(true);
    await pass(0.1);
    expect(await stateOf(id)).toMatchObject({ state: "halted", haltReason: "It was yanked." });
    await edit(false);
    await pass(2);
    expect(await offered()).toBe(0);
    expect(await setState(id, { state: "running" })).toMatchObject({ state: "running", rollout: 20 });
  });
});

describe("a schedule", () => {
  test("ends with its last release, and not before", async () => {
    await publishVersion(key, "2.0.0", { platform: "macos", architecture: "universal" });
    const { id } = await schedule();
    await callReleases("DELETE", `/${NEW}?force=true`, key.key);
    expect(await stateOf(id)).toMatchObject({ state: "running", releaseIds: [MAC] });
    await callReleases("DELETE", `/${MAC}?force=true`, key.key);
    expect(await setState(id, { state: "running" })).toMatchObject({ status: 404 });
    await publishVersion(key, "2.0.0", { rollout: 20 });
    await pass(5);
    await expectShare();
  });

  test("stays halted for the other platforms when one gets a percentage or a schedule of its own", async () => {
    await publishVersion(key, "2.0.0", { platform: "macos", architecture: "universal" });
    const { id } = await schedule();
    await setState(id, { state: "halted", reason: "It crashes." });
    await change(MAC, { rollout: 50 });
    expect(await stateOf(id)).toMatchObject({ state: "halted", releaseIds: [NEW] });
    expect(await offered()).toBe(0);
    await publishVersion(key, "2.0.0", { architecture: "arm64" });
    await schedule({ filter: { ids: ["core-windows-arm64-2.0.0"] } });
    expect(await offered()).toBe(0);
  });
});
