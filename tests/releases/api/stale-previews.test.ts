import { expect, test } from "vitest";
import { previewChange } from "@/lib/releases/publishing/preview-change";
import { call } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { callReleases, publishVersion } from "@/tests/support/releases/admin-api";
import { FILTER, NEW, OLD, offered, pass, publishOldAndNew } from "@/tests/support/releases/rollouts";

const PLAN = { filter: FILTER, steps: [20, 100], everySeconds: 3600, minAdoptionShare: 0 };

const key = publishOldAndNew();

const send = async (method: string, path: string, etag: string, json?: object) => {
  const headers = { "if-match": etag };
  const response = await call(method, `/api/admin/releases${path}`, { token: key.key, json, headers });
  const { code } = (await response.json()) as { code?: string };
  return { status: response.status, code, etag: response.headers.get("etag") };
};
const etagOf = async (method: "GET" | "POST", path: string, json?: object) => {
  const response = await call(method, `/api/admin/releases${path}`, { token: key.key, json });
  return response.headers.get("etag") ?? "none";
};
const preview = (json: object) => etagOf("POST", "/previews", json);

const FULL = { kind: "change", filter: FILTER, change: { rollout: 100 } };

test("a rollout that somebody has halted since the preview is not reopened", async () => {
  await callReleases("PATCH", `/${NEW}`, key.key, { rollout: 30 });
  const seen = await preview(FULL);
  await callReleases("PATCH", "", key.key, { filter: FILTER, change: { rollout: 0 }, reason: "It crashes." });
  const refused = await send("PATCH", `/${NEW}`, seen, { rollout: 100 });
  expect(refused).toMatchObject({ status: 412, code: "precondition_failed" });
  expect(await offered()).toBe(0);
  expect(refused.etag).toBe(await preview(FULL));
  expect(await send("PATCH", `/${NEW}`, refused.etag ?? "", { rollout: 100 })).toMatchObject({ status: 200 });
  const where = { type: "release_changed", target: `release:${NEW}` };
  const events = await ctx().db.auditEvent.findMany({ where, orderBy: { id: "asc" } });
  expect(events.at(-2)?.details).toEqual({ from: { rollout: 30 }, to: { rollout: 0 }, reason: "It crashes." });
});

test("every change requires the state that it was previewed with, if it names one", async () => {
  const { id } = await callReleases("POST", "/rollouts", key.key, PLAN);
  const stale = await preview(FULL);
  await callReleases("PATCH", `/rollouts/${id}`, key.key, { state: "halted", reason: "It crashes." });
  const before = await etagOf("GET", `/${NEW}`);
  const promotion = { filter: FILTER, from: "stable", to: "beta", confirmations: { isNew: true } };
  for (const [method, path, body] of [
    ["PATCH", `/rollouts/${id}`, { state: "running" }],
    ["PATCH", `/rollouts/${id}`, { state: "completed" }],
    ["PATCH", `/${NEW}`, { rollout: 100 }],
    ["PATCH", `/${OLD}`, { notes: "Overwrites." }],
    ["PATCH", "", { filter: FILTER, change: { critical: true } }],
    ["POST", "/rollouts", PLAN],
    ["POST", "/rollbacks", { filter: { ids: [OLD] } }],
    ["POST", "/promotions", promotion],
    ["DELETE", `/${NEW}?force=true`, undefined],
  ] as const) {
    expect(await send(method, path, stale, body), path).toMatchObject({ status: 412, code: "precondition_failed" });
    expect(await etagOf("GET", `/${NEW}`)).toBe(before);
  }
  expect(await send("PATCH", `/rollouts/${id}`, before, { state: "running" })).toMatchObject({ status: 200 });
});

test("a step that the service takes changes the state, and time alone does not", async () => {
  const { id } = await callReleases("POST", "/rollouts", key.key, PLAN);
  const seen = await etagOf("GET", `/rollouts/${id}`);
  await pass(0.5);
  expect(await etagOf("GET", `/rollouts/${id}`)).toBe(seen);
  await pass(0.7);
  expect(await send("PATCH", `/rollouts/${id}`, seen, { state: "halted" })).toMatchObject({ status: 412 });
});

test("of two changes that were previewed together, the first is made", async () => {
  const seen = await preview(FULL);
  const rollouts = [10, 20, 30, 40].map((rollout) => send("PATCH", `/${NEW}`, seen, { rollout }));
  expect((await Promise.all(rollouts)).map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
});

test("a preview and the release that it is about have the same state; another product's changes do not count", async () => {
  const seen = await preview(FULL);
  expect(await etagOf("GET", `/${NEW}`)).toBe(seen);
  await publishVersion(key, "1.0.0", { product: "ops" });
  expect(await preview(FULL)).toBe(seen);
  const { state } = await previewChange(ctx(), {}, { kind: "change", filter: FILTER, change: { yanked: true } });
  expect(`"${state}"`).toBe(seen);
});
