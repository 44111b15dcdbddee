import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createReleaseMirror } from "@/lib/releases/mirror/mirror";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock, ctx } from "@/tests/support/context";
import { callReleases, changeRelease, publishVersion } from "@/tests/support/releases/admin-api";
import { newFolder } from "@/tests/support/releases/catalogs";
import { FILTER, NEW, pass, publishOldAndNew } from "@/tests/support/releases/rollouts";

const key = publishOldAndNew();

afterEach(async () => {
  clock.reset();
  await ctx().db.releasePolicy.deleteMany();
  await ctx().db.releaseAdmission.deleteMany();
});

/** Mirrors to a new folder. Returns what reads the version that the mirror offers, once it is current. */
async function openMirror(): Promise<() => Promise<string>> {
  const folder = await newFolder();
  const config = { ...ctx().config, RELEASE_MIRROR: folder };
  const mirror = createReleaseMirror({ ...ctx(), config, allowed: [] });
  if (!mirror) throw new Error("There is no mirror");
  onTestFinished(mirror.close);
  return async () => {
    await vi.waitFor(async () => {
      await mirror.sync();
      const state = await ctx().db.releaseMirror.findUniqueOrThrow({ where: { location: folder } });
      expect(state).toMatchObject({ pendingFiles: 0, error: null, currentAt: expect.any(Date) });
    }, 20_000);
    const text = await readFile(path.join(folder, "api/updates/core/stable/latest.yml"), "utf8");
    return /^version: "(.*)"/.exec(text)?.[1] ?? text;
  };
}

test("a rollout is on the mirror when it has reached everybody, and never while it is under way, paused or halted", async () => {
  const mirrored = await openMirror();
  expect(await mirrored()).toBe("2.0.0");
  const plan = { filter: FILTER, steps: [20, 100], everySeconds: 3600, minAdoptionShare: 0 };
  const { id } = await callReleases("POST", "/rollouts", key.key, plan);
  expect(await mirrored()).toBe("1.0.0");
  await pass(1.2);
  expect(await mirrored()).toBe("2.0.0");
  await callReleases("PATCH", `/rollouts/${id}`, key.key, { state: "halted" });
  expect(await mirrored()).toBe("1.0.0");
  await callReleases("PATCH", `/rollouts/${id}`, key.key, { state: "completed" });
  await changeRelease("PATCH", NEW, { token: key.key, json: { rollout: 0 } });
  expect(await mirrored()).toBe("1.0.0");
});

test("a release that waits for an approval is not on the mirror, and is once it has it", async () => {
  const mirrored = await openMirror();
  const [admin, other] = [await accountWithRole("admin"), await accountWithRole("admin")];
  expect(await callReleases("PATCH", "/policies/core", admin.token, { approvals: 1 })).toMatchObject({ status: 200 });
  await publishVersion(key, "3.0.0");
  expect(await mirrored()).toBe("2.0.0");
  const filter = { product: "core", version: "3.0.0" };
  expect(await callReleases("POST", "/approvals", other.token, { filter })).toMatchObject({ status: 200 });
  expect(await mirrored()).toBe("3.0.0");
});
