import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { watchRollouts } from "@/lib/background";
import type { Tx } from "@/lib/context";
import { writeCompletedRollouts } from "@/lib/releases/rollouts/write-completed-rollouts";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, withContext } from "@/tests/support/context";
import { countLockWaits, postgresUrl } from "@/tests/support/database";
import {
  callReleases,
  changeRelease,
  draftOf,
  listReleases,
  publishDrafts,
  publishVersion,
  releaseEventsOf,
} from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { offsetOf, uploadFile } from "@/tests/support/releases/uploads";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";

const IDS = ["core-windows-x64-1.4.0", "core-windows-arm64-1.4.0"];
const LEASE_MS = 60_000;

isolateDataFolder();
afterEach(removeEndpoints);

/** Two releases to publish, and the request that a pipeline repeats. */
async function newRequest() {
  await newReceiver(["release.published"]);
  const key = await newKey();
  const uploads = [await uploadFile(key), await uploadFile(key)] as const;
  const arm = draftOf("1.4.0", uploads[1]);
  const drafts = [
    draftOf("1.4.0", uploads[0]),
    { ...arm, release: { ...arm.release, architecture: "arm64" }, confirmations: { isNew: true } },
  ];
  const headers = { "idempotency-key": randomUUID() };
  return { key, uploads, send: () => publishDrafts(key.key, drafts, headers) };
}

type Request = Awaited<ReturnType<typeof newRequest>>;

const announced = async () => {
  const events = await ctx().db.webhookEvent.findMany({ where: { type: "release.published" }, orderBy: { id: "asc" } });
  return events.map(({ data }) => (data as { releaseId: string }).releaseId);
};

async function expectNothingPublished({ key, uploads }: Request) {
  expect((await listReleases(key.key)).releases).toEqual([]);
  for (const id of IDS) expect(await releaseEventsOf(key, id)).toEqual([]);
  expect(await announced()).toEqual([]);
  expect(await Promise.all(uploads.map(offsetOf))).toEqual([1_000, 1_000]);
}

async function expectPublishedOnce({ key, send }: Request) {
  expect(await send()).toMatchObject({ status: 201, releases: IDS.map((id) => ({ id, outcome: "added" })) });
  expect((await send()).headers.get("idempotency-replayed")).toBe("true");
  for (const id of IDS) expect(await releaseEventsOf(key, id)).toEqual([["release_published", { outcome: "added" }]]);
  expect((await announced()).sort()).toEqual([...IDS].sort());
}

/**
 * The database, which cannot be reached any more once a transaction begins, once the first one is committed, or while that
 * is being committed, so that its outcome is unknown.
 */
function databaseThatFails(when: "before" | "during" | "after") {
  let isDown = false;
  return new Proxy(ctx().db, {
    get: (target, name) => {
      isDown ||= when === "before" && name === "$transaction";
      if (isDown) throw Object.assign(new Error("Can't reach database server"), { code: "P1001" });
      if (name !== "$transaction") return Reflect.get(target, name);
      return (run: Parameters<typeof target.$transaction>[0]) =>
        target.$transaction(run).finally(() => {
          isDown = true;
          if (when === "during") throw new Error("Connection terminated unexpectedly");
        });
    },
  });
}

test("if the database fails before the events are recorded, nothing is published, and a retry publishes once", async () => {
  const request = await newRequest();
  const failed = await withContext({ db: databaseThatFails("before") }, request.send);
  expect(failed).toMatchObject({ status: 503, code: "unavailable" });
  await expectNothingPublished(request);
  expect(await request.send()).toMatchObject({ status: 409, code: "request_in_progress" });
  clock.advance(LEASE_MS);
  await expectPublishedOnce(request);
});

test("if the database fails after the events are recorded, the response says what was published", async () => {
  const request = await newRequest();
  const published = await withContext({ db: databaseThatFails("after") }, request.send);
  expect(published).toMatchObject({ status: 201, releases: IDS.map((id) => ({ id, outcome: "added" })) });
  for (const id of IDS) expect(await releaseEventsOf(request.key, id)).toHaveLength(1);
  expect(await request.send()).toMatchObject({ status: 409, code: "request_in_progress" });
});

describe("if the connection is lost while a change is committed", () => {
  const yank = (key: CreatedKey, id: string) => changeRelease("PATCH", id, { token: key.key, json: { yanked: true } });
  /** Yanks a release while the connection is lost. */
  const lostYank = async () => {
    const key = await newKey();
    const id = await publishVersion(key, "1.4.0");
    return { key, id, lost: await withContext({ db: databaseThatFails("during") }, () => yank(key, id)) };
  };
  /** Offers a release again, with its rollout, while the connection is lost; the service looks at rollouts a minute later. */
  const lostOffer = async () => {
    const key = await newKey();
    const id = await publishVersion(key, "1.4.0");
    const plan = { filter: { ids: [id] }, steps: [20, 100], everySeconds: 3600, minAdoptionShare: 0 };
    const { id: rollout } = await callReleases("POST", "/rollouts", key.key, plan);
    await yank(key, id);
    const offer = () => changeRelease("PATCH", id, { token: key.key, json: { yanked: false } });
    expect((await withContext({ db: databaseThatFails("during") }, offer)).status).toBe(503);
    clock.advance(60_000);
    return { key, id, rollout };
  };
  const isYanked = async (key: CreatedKey) =>
    (await listReleases(key.key)).releases.map((release) => (release as unknown as { yanked: boolean }).yanked);

  test("the next change completes it first", async () => {
    const { key, id, lost } = await lostYank();
    expect(lost.status).toBe(503);
    expect(await isYanked(key)).toEqual([false]);
    await publishVersion(key, "1.5.0");
    expect(await isYanked(key)).toEqual([false, true]);
    expect((await releaseEventsOf(key, id)).map(([type]) => type)).toEqual(["release_published", "release_changed"]);
  });

  test("the service completes it at its next start", async () => {
    const { key } = await lostYank();
    await writeCompletedRollouts(ctx());
    expect(await isYanked(key)).toEqual([true]);
  });

  test("the service completes it before it looks at rollouts: one whose release is offered again goes on", async () => {
    const { key, id, rollout } = await lostOffer();
    await watchRollouts(ctx());
    expect(await isYanked(key)).toEqual([false]);
    expect(await callReleases("GET", `/rollouts/${rollout}`, key.key)).toMatchObject({ state: "running", rollout: 20 });
    expect((await releaseEventsOf(key, id)).map(([type]) => type)).toEqual([
      "release_published",
      "release_changed",
      "release_changed",
    ]);
  });

  test("a change that cannot be completed keeps no rollout from being halted", async () => {
    const { key, rollout } = await lostOffer();
    const folder = path.join(ctx().config.DATA_DIR, "releases");
    await mkdir(path.join(folder, `catalog.json.${randomUUID()}.${"0".repeat(16)}.next`)); // cannot be removed as a file
    await rm(path.join(folder, (await stagedFiles()).find((name) => !name.includes("0".repeat(16))) ?? ""));
    await expect(watchRollouts(ctx())).rejects.toThrow();
    expect(await callReleases("GET", `/rollouts/${rollout}`, key.key)).toMatchObject({ state: "halted" });
  });

  /** Yanks a release while the server ends the transaction as `end` says, but only once the service asks how it ended. */
  const yankMeanwhile = async (end: () => void) => {
    const key = await newKey();
    const id = await publishVersion(key, "1.4.0");
    const { db } = ctx();
    let isFirst = true;
    let endTransaction = () => {};
    const begin = (run: (tx: Tx) => Promise<unknown>) => {
      if (!isFirst) return db.$transaction(run);
      isFirst = false;
      return new Promise((_, reject) => {
        const runOn = async (tx: Tx) => {
          await run(tx);
          const ended = new Promise<void>((resolve) => {
            endTransaction = resolve;
          });
          reject(new Error("Connection terminated unexpectedly"));
          await ended;
          end();
        };
        db.$transaction(runOn).catch(reject);
      });
    };
    const losing = new Proxy(db, {
      get: (target, name) => (name === "$transaction" ? begin : Reflect.get(target, name)),
    });
    let hasAnswered = false;
    const response = withContext({ db: losing }, () => yank(key, id)).finally(() => {
      hasAnswered = true;
    });
    await expect.poll(async () => hasAnswered || (await countLockWaits(db)) > 0).toBe(true);
    endTransaction();
    const { status } = await response;
    const events = (await releaseEventsOf(key, id)).map(([type]) => type);
    return { status, yanked: await isYanked(key), events: events.slice(1), staged: await stagedFiles() };
  };
  const stagedFiles = async () =>
    (await readdir(path.join(ctx().config.DATA_DIR, "releases"))).filter((name) => name.endsWith(".next"));

  test.runIf(postgresUrl)("the service waits for the server, which commits it", async () => {
    const committed = await yankMeanwhile(() => {});
    expect(committed).toEqual({ status: 200, yanked: [true], events: ["release_changed"], staged: [] });
  });

  test.runIf(postgresUrl)("the service waits for the server, which rolls it back", async () => {
    const rolledBack = await yankMeanwhile(() => {
      throw new Error("The server rolls it back");
    });
    expect(rolledBack).toEqual({ status: 503, yanked: [false], events: [], staged: [] });
  });

  test("somebody who has edited the catalog's file since is not overruled", async () => {
    const { key } = await lostYank();
    const file = path.join(ctx().config.DATA_DIR, "releases", "catalog.json");
    await writeFile(file, `${await readFile(file, "utf8")}\n`);
    await writeCompletedRollouts(ctx());
    expect(await isYanked(key)).toEqual([false]);
    expect(await stagedFiles()).toEqual([]);
  });
});

test("if the database fails during a promotion, nothing is promoted, and a retry promotes once", async () => {
  const key = await newKey();
  const from = await publishVersion(key, "1.4.0", { channel: "beta" });
  await newReceiver(["release.published"]);
  const promotion = { filter: { ids: [from] }, from: "beta", to: "stable" };
  const promote = () => callReleases("POST", "/promotions", key.key, promotion);
  const failed = await withContext({ db: databaseThatFails("before") }, promote);
  expect(failed).toMatchObject({ status: 503, code: "unavailable" });
  expect((await listReleases(key.key)).releases).toMatchObject([{ id: from }]);
  const id = `${from}-stable`;
  expect(await promote()).toMatchObject({ status: 200, releases: [{ id, outcome: "added" }] });
  expect(await releaseEventsOf(key, id)).toEqual([["release_published", { outcome: "added", from }]]);
  expect(await announced()).toEqual([id]);
});

test("if the catalog cannot be written, no event says that a release was published", async () => {
  const request = await newRequest();
  const longName = path.join(ctx().config.DATA_DIR, "releases", `${"c".repeat(245)}.json`); // leaves no room for a suffix
  expect((await withContext({ config: { RELEASE_CATALOG: longName } }, request.send)).status).toBe(500);
  await expectNothingPublished(request);
  await expectPublishedOnce(request);
});
